"""Apps and what they remember; an app's memories can be purged, with the undo that its owner has."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest

from chat.actions.deletions import forget_app_memories
from chat.actions.messages import Refused
from chat.models import App, AppMemory, AppMemoryEvent

from .base import ReadOnly


@admin.register(App)
class AppAdmin(ReadOnly):
    """Apps, with how much they remember."""

    list_display = ("name", "slug", "owner", "strategy", "memories", "created_at", "archived_at")
    list_filter = (("archived_at", admin.EmptyFieldListFilter), "strategy", "owner")
    search_fields = ("name", "slug", "persona")
    list_select_related = ("owner",)
    date_hierarchy = "created_at"
    actions = ("purge",)

    def get_queryset(self, request: HttpRequest) -> Any:
        """Count what each app remembers."""
        kept = Count("memories", filter=Q(memories__deletion=None))
        return super().get_queryset(request).annotate(remembered=kept)

    def has_purge_permission(self, request: HttpRequest) -> bool:
        """Tell whether this person may purge: whoever may delete memories of apps."""
        return request.user.has_perm("chat.delete_appmemory")

    @admin.display(description="memories", ordering="remembered")
    def memories(self, app: App) -> int:
        """Return how many memories are kept."""
        return int(app.remembered)  # type: ignore[attr-defined]

    @admin.action(description="Forget all memories of the app", permissions=["purge"])
    def purge(self, request: HttpRequest, queryset: QuerySet[App]) -> None:
        """Take the memories of the chosen apps out of sight, and for good after eight seconds."""
        done = empty = 0
        for app in queryset.select_related("owner"):
            try:
                forget_app_memories(app)
            except Refused:
                empty += 1
            else:
                done += 1
        if done:
            text = f"Memories of {done} forgotten. The owner can take it back for eight seconds."
            self.message_user(request, text, messages.SUCCESS)
        if empty:
            self.message_user(request, f"{empty} had none.", messages.INFO)


@admin.register(AppMemory)
class AppMemoryAdmin(ReadOnly):
    """What apps remember of conversations."""

    list_display = ("content", "app", "owner", "source_conversation", "edited", "created_at", "updated_at")
    list_filter = ("edited", ("deletion", admin.EmptyFieldListFilter), "app", "owner")
    search_fields = ("content", "app__name")
    list_select_related = ("app", "owner", "source_conversation")
    date_hierarchy = "updated_at"


@admin.register(AppMemoryEvent)
class AppMemoryEventAdmin(ReadOnly):
    """That memories of apps were written, absorbed by others, and made room."""

    list_display = ("created_at", "kind", "app", "owner")
    list_filter = ("kind", "app", "owner")
    list_select_related = ("app", "owner")
    date_hierarchy = "created_at"
