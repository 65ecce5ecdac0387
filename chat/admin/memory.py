"""Facts with their history, what became of messages, and the entity graph."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from chat.models import Entity, ExtractionRun, Fact, FactEvent, Relationship

from .base import AnyInline, ReadOnly, shortened

# In the order in which they are asked: what is being forgotten is that before anything else.
_STATES = {
    "forgotten": ("being forgotten", Q(deletion__isnull=False)),
    "archived": ("in the archive", Q(archived_at__isnull=False)),
    "replaced": ("replaced", Q(superseded_at__isnull=False)),
    "live": ("live", Q()),
}


class FactState(admin.SimpleListFilter):
    """Facts by what has become of them."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Name the states."""
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
    """A fact's history under it."""

    model = FactEvent
    fields = ("created_at", "kind", "actor", "reason", "before", "after")
    readonly_fields = fields
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: history is written by what happens."""
        return False


@admin.register(Fact)
class FactAdmin(ReadOnly):
    """What is known of people, and was."""

    list_display = (
        *("text", "category", "kind", "owner", "confidence", "mention_count", "pinned", "origin"),
        *("last_seen", "state"),
    )
    list_filter = (FactState, "category", "origin", "pinned", "kind", "language", "owner")
    search_fields = ("text", "quote", "subject")
    list_select_related = ("owner",)
    date_hierarchy = "last_seen"
    exclude = ("embedding",)
    inlines: ClassVar = [EventInline]

    @admin.display(description="state")
    def state(self, fact: Fact) -> str:
        """Say whether the fact is live."""
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
    """What became of each message that memory looked at."""

    list_display = (
        *("created_at", "text", "read", "stored", "reinforced", "ended", "refusals", "error", "seconds"),
    )
    list_filter = ("read", ("error", admin.EmptyFieldListFilter))
    search_fields = ("error", "message__content")
    list_select_related = ("message",)
    date_hierarchy = "created_at"

    @admin.display(description="message")
    def text(self, run: ExtractionRun) -> str:
        """Return how the message begins."""
        return shortened(run.message.content, 60) or str(run.message)

    @admin.display(description="refused")
    def refusals(self, run: ExtractionRun) -> int:
        """Return how many statements were refused."""
        return len(run.refused)


@admin.register(Entity)
class EntityAdmin(ReadOnly):
    """What facts speak of."""

    list_display = ("name", "type", "owner", "created_at")
    list_filter = ("type", "owner")
    search_fields = ("name",)
    list_select_related = ("owner",)
    date_hierarchy = "created_at"


@admin.register(Relationship)
class RelationshipAdmin(ReadOnly):
    """How it hangs together."""

    list_display = ("source", "relation", "target", "valid", "source_fact", "owner", "created_at")
    list_filter = ("valid", "relation", "owner")
    search_fields = ("source__name", "target__name", "source_fact__text")
    list_select_related = ("source", "target", "source_fact", "owner")
    date_hierarchy = "created_at"
