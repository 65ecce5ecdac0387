"""A sample message and the app memory that summarises it."""

from __future__ import annotations

from chat.models import App, AppMemory

TENT_MESSAGE = "I need a tent for two for nine days in the fells in August, my brother Tom freezes."
TENT_MEMORY = "The user needs a tent for two for nine days in the fells in August."


def live_app_memories(app: App | None = None) -> list[str]:
    """Return the texts of the live memories of an app, or of all apps, the newest first."""
    rows = AppMemory.objects.live()
    return [m.content for m in (rows.filter(app=app) if app else rows)]
