"""What every page shows around its content: sidebar, pill, model, pending deletions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import SimpleLazyObject

from chat.actions.deletions import GRACE
from chat.llm.registry import registry
from chat.models import App, Conversation, Deletion, Fact, Theme

from .forgetting import told
from .spoken import said
from .statistics import gauge

_SIDEBAR_LENGTH = 200


def shell(request: HttpRequest) -> dict[str, Any]:
    """Return the context of the page's frame; queries run only where a template asks."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated or request.path.startswith("/admin/"):
        return {"mode": settings.MODE}
    return {
        "sidebar": SimpleLazyObject(lambda: sidebar(user)),
        "memory_count": SimpleLazyObject(lambda: Fact.objects.for_owner(user).live().count()),
        "gauge": SimpleLazyObject(gauge),
        "model": model_card(),
        # Where the files lie is for who can reach them.
        "data_dir": str(settings.DATA_DIR) if settings.MODE == "local" or user.is_staff else "",
        "pending_deletions": SimpleLazyObject(lambda: pending(user)),
        "mode": settings.MODE,
        "theme": theme_card(request.preferences.theme),  # type: ignore[attr-defined]
    }


def theme_card(theme: str) -> dict[str, Any]:
    """Return the theme of the page, its icon and what it is called, and the one that comes after it."""
    themes = list(Theme)
    here = Theme(theme)
    after = themes[(themes.index(here) + 1) % len(themes)]
    return {"value": here.value, "icon": here.name.lower(), "label": here.label, "next": after.value}


def sidebar(user: Any) -> list[tuple[App, list[Conversation]]]:
    """Return the apps that are in use with their newest conversations, pinned ones first, in two queries."""
    shelves: dict[Any, tuple[App, list[Conversation]]] = {
        app.pk: (app, []) for app in App.objects.for_owner(user).active()
    }
    listed = Conversation.objects.for_owner(user).listed().filter(app__archived_at__isnull=True)
    newest = listed.order_by("-pinned", "-updated_at", "-created_at")
    for conversation in newest[:_SIDEBAR_LENGTH]:
        shelves[conversation.app_id][1].append(conversation)
    return list(shelves.values())


def model_card() -> dict[str, Any]:
    """Return the model's name and state in words."""
    status = registry.status()
    return {
        "name": status.name,
        "label": status.label,
        "state": status.state.value,
        "sentence": said(status.sentence),
        "command": status.command,
        "progress": None,
        "remote": status.remote,
        "host": status.host,
    }


def pending(user: Any) -> list[dict[str, Any]]:
    """Return the deletions that can still be undone, for the toasts of a page that was just opened."""
    now = timezone.now()
    rows = (
        Deletion.objects.for_owner(user)
        .pending()
        .filter(expires_at__gt=now - GRACE)
        .prefetch_related("facts", "conversations", "app_memories")
    )
    batches = [(row, list(row.facts.all()), next(iter(row.conversations.all()), None)) for row in rows]
    return [
        told(row, facts, now, None if row.whole else chat)
        for row, facts, chat in batches
        if facts or chat or row.whole or row.app_memories.all()
    ]
