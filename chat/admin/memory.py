"""Facts with their history, extraction runs, the entity graph, apps and app memories."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest

from chat.actions.deletions import forget_app_memories
from chat.errors import Refused
from chat.models import (
    App,
    AppMemory,
    AppMemoryEvent,
    Entity,
    ExtractionRun,
    Fact,
    FactEvent,
    Relationship,
    RequestOutcome,
)

from .base import AnyInline, ReadOnly, shortened

# In order of precedence: a deleted fact counts as such whatever else it is.
_STATES = {
    "forgotten": ("being forgotten", Q(deletion__isnull=False)),
    "archived": ("in the archive", Q(archived_at__isnull=False)),
    "replaced": ("replaced", Q(superseded_at__isnull=False)),
    "live": ("live", Q()),
}


class FactStateFilter(admin.SimpleListFilter):
    """Filters facts by state."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return value and label of the states."""
        return [(name, label) for name, (label, _condition) in _STATES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Fact]) -> QuerySet[Fact]:
        """Keep the facts of the chosen state."""
        for name, (_label, condition) in _STATES.items():
            if self.value() == name:
                return queryset.filter(condition)
            if self.value() and condition:
                queryset = queryset.exclude(condition)
        return queryset.model._default_manager.none() if self.value() else queryset


class EventInline(AnyInline):
    """The history of a fact, below the fact."""

    model = FactEvent
    fields = ("created_at", "kind", "actor", "reason", "before", "after")
    readonly_fields = fields
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return False: actions write the history."""
        return False


@admin.register(Fact)
class FactAdmin(ReadOnly):
    """Facts, live and past."""

    list_display = (
        *("text", "category", "kind", "owner", "confidence", "mention_count", "pinned", "origin"),
        *("last_seen", "state"),
    )
    list_filter = (FactStateFilter, "category", "origin", "pinned", "kind", "language", "owner")
    search_fields = ("text", "quote", "subject")
    list_select_related = ("owner",)
    date_hierarchy = "last_seen"
    exclude = ("embedding",)
    inlines: ClassVar = [EventInline]

    @admin.display(description="state")
    def state(self, fact: Fact) -> str:
        """Return the state of the fact."""
        if fact.deletion_id:
            return "being forgotten"
        if fact.archived_at:
            return "in the archive"
        return "replaced" if fact.superseded_at else "live"


@admin.register(FactEvent)
class FactEventAdmin(ReadOnly):
    """The history of all facts."""

    list_display = ("created_at", "kind", "fact", "actor", "reason")
    list_filter = ("kind", "actor", "fact__owner")
    search_fields = ("reason", "fact__text")
    list_select_related = ("fact",)
    date_hierarchy = "created_at"


@admin.register(ExtractionRun)
class ExtractionRunAdmin(ReadOnly):
    """Extraction runs: what memory found in each message."""

    list_display = (
        *("created_at", "text", "read", "stored", "reinforced", "ended", "refusals", "error", "seconds"),
    )
    list_filter = ("read", ("error", admin.EmptyFieldListFilter))
    search_fields = ("error", "message__content")
    list_select_related = ("message",)
    date_hierarchy = "created_at"

    @admin.display(description="message")
    def text(self, run: ExtractionRun) -> str:
        """Return the beginning of the message."""
        return shortened(run.message.content, 60) or str(run.message)

    @admin.display(description="refused")
    def refusals(self, run: ExtractionRun) -> int:
        """Return how many statements were refused."""
        return len(run.refused)


@admin.register(Entity)
class EntityAdmin(ReadOnly):
    """Entities of the graph."""

    list_display = ("name", "type", "owner", "created_at")
    list_filter = ("type", "owner")
    search_fields = ("name",)
    list_select_related = ("owner",)
    date_hierarchy = "created_at"


@admin.register(Relationship)
class RelationshipAdmin(ReadOnly):
    """Relationships of entities."""

    list_display = ("source", "relation", "target", "valid", "source_fact", "owner", "created_at")
    list_filter = ("valid", "relation", "owner")
    search_fields = ("source__name", "target__name", "source_fact__text")
    list_select_related = ("source", "target", "source_fact", "owner")
    date_hierarchy = "created_at"


@admin.register(App)
class AppAdmin(ReadOnly):
    """Apps, with the number of their memories."""

    list_display = ("name", "slug", "owner", "strategy", "memories", "created_at", "archived_at")
    list_filter = (("archived_at", admin.EmptyFieldListFilter), "strategy", "owner")
    search_fields = ("name", "slug", "persona")
    list_select_related = ("owner",)
    date_hierarchy = "created_at"
    actions = ("purge",)

    def get_queryset(self, request: HttpRequest) -> Any:
        """Annotate each app with the number of its memories."""
        kept = Count("memories", filter=Q(memories__deletion=None))
        return super().get_queryset(request).annotate(remembered=kept)

    def has_purge_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may purge: the permission to delete app memories."""
        return request.user.has_perm("chat.delete_appmemory")

    @admin.display(description="memories", ordering="remembered")
    def memories(self, app: App) -> int:
        """Return the number of memories that are not deleted."""
        return int(app.remembered)  # type: ignore[attr-defined]

    @admin.action(description="Forget all memories of the app", permissions=["purge"])
    def purge(self, request: HttpRequest, queryset: QuerySet[App]) -> None:
        """Delete the memories of the chosen apps: hidden at once, erased after eight seconds."""
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
    """Memories of apps."""

    list_display = ("content", "app", "owner", "source_conversation", "edited", "created_at", "updated_at")
    list_filter = ("edited", ("deletion", admin.EmptyFieldListFilter), "app", "owner")
    search_fields = ("content", "app__name")
    list_select_related = ("app", "owner", "source_conversation")
    date_hierarchy = "updated_at"


@admin.register(AppMemoryEvent)
class AppMemoryEventAdmin(ReadOnly):
    """Events of app memories: written, merged into another, and evicted."""

    list_display = ("created_at", "kind", "app", "owner")
    list_filter = ("kind", "app", "owner")
    list_select_related = ("app", "owner")
    date_hierarchy = "created_at"


@admin.register(RequestOutcome)
class RequestOutcomeAdmin(ReadOnly):
    """Requests to memory that were not carried out at once: asked, without a match, or with memory off."""

    list_display = ("kind", "message", "owner", "created_at", "answered_at")
    list_filter = ("kind", ("answered_at", admin.EmptyFieldListFilter), "owner")
    list_select_related = ("message", "owner")
    date_hierarchy = "created_at"
