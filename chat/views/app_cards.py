"""What apps remember, as the panel and their pages show it."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from chat.memory.similar import normalise
from chat.models import App, AppMemory

TAB = "apps"


def by_app(owner: Any, query: str = "", app: App | None = None) -> list[tuple[App, list[AppMemory]]]:
    """Return what the owner's apps remember, app by app, the newest first; one query."""
    rows = AppMemory.objects.for_owner(owner).live().select_related("app", "source_conversation")
    rows = rows.order_by("app__created_at", "app", "-updated_at", "pk")
    wanted = normalise(query)
    found = [m for m in (rows.filter(app=app) if app else rows) if wanted in normalise(m.content)]
    return [(told_by, list(memories)) for told_by, memories in groupby(found, key=lambda m: m.app)]
