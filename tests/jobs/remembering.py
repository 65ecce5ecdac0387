"""What tests of app memories talk of."""

from __future__ import annotations

from chat.models import App, AppMemory

TENT = "I need a tent for two for nine days in the fells in August, my brother Tom freezes."
NOTE = "The user needs a tent for two for nine days in the fells in August."


def told(app: App | None = None) -> list[str]:
    """Return what is remembered, the newest first."""
    rows = AppMemory.objects.live()
    return [m.content for m in (rows.filter(app=app) if app else rows)]
