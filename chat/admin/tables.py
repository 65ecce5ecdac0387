"""Every table but the jobs, for inspection."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from chat.models import (
    ApiToken,
    App,
    AppMemory,
    Conversation,
    Deletion,
    Energy,
    Entity,
    ExtractionRun,
    Fact,
    FactEvent,
    Message,
    OwnerSettings,
    PromptReport,
    Relationship,
    Tombstone,
    Topic,
    TopicArchive,
    UsageRecord,
)

from .base import AnyAdmin, AnyInline, ReadOnly


@admin.register(App)
class AppAdmin(ReadOnly):
    list_display = ("name", "slug", "owner", "created_at", "archived_at")


@admin.register(AppMemory)
class AppMemoryAdmin(ReadOnly):
    list_display = ("content", "app", "owner", "source_conversation", "edited", "created_at", "updated_at")
    list_filter = ("app", "edited")
    search_fields = ("content",)
    list_select_related = ("app", "owner", "source_conversation")
    date_hierarchy = "updated_at"


@admin.register(Conversation)
class ConversationAdmin(ReadOnly):
    list_display = (
        "title",
        "app",
        "owner",
        "memory_mode",
        "extracted_through",
        "trimmed_through",
        "updated_at",
        "ended_at",
    )
    list_filter = ("memory_mode", "app")
    search_fields = ("title",)
    date_hierarchy = "updated_at"


@admin.register(Message)
class MessageAdmin(ReadOnly):
    list_display = ("conversation", "seq", "role", "state", "failure", "created_at")
    list_filter = ("role", "state")
    search_fields = ("content",)
    list_select_related = ("conversation",)
    date_hierarchy = "created_at"


@admin.register(PromptReport)
class PromptReportAdmin(ReadOnly):
    list_display = (
        "reply",
        "prompt_tokens",
        "cached_tokens",
        "completion_tokens",
        "first_token_ms",
        "cut_messages",
    )
    list_select_related = ("reply",)


@admin.register(Topic)
class TopicAdmin(ReadOnly):
    list_display = (
        "title",
        "conversation",
        "importance",
        "access_count",
        "message_count",
        "last_active_at",
        "retired_at",
    )
    search_fields = ("title", "summary")
    list_select_related = ("conversation",)
    date_hierarchy = "last_active_at"
    exclude = ("embedding",)


@admin.register(TopicArchive)
class TopicArchiveAdmin(ReadOnly):
    list_display = ("topic", "count", "sha256", "created_at")
    list_select_related = ("topic",)
    date_hierarchy = "created_at"
    exclude = ("data",)


class EventInline(AnyInline):
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
    list_display = (
        "text",
        "category",
        "kind",
        "confidence",
        "mention_count",
        "pinned",
        "origin",
        "last_seen",
        "state",
    )
    list_filter = ("category", "kind", "origin", "pinned")
    search_fields = ("text", "quote")
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
    list_display = ("created_at", "kind", "fact", "actor", "reason")
    list_filter = ("kind", "actor")
    search_fields = ("reason",)
    list_select_related = ("fact",)
    raw_id_fields = ("fact", "source_message")
    date_hierarchy = "created_at"


@admin.register(ExtractionRun)
class ExtractionRunAdmin(ReadOnly):
    list_display = ("created_at", "message", "stored", "reinforced", "error", "seconds")
    list_select_related = ("message",)
    date_hierarchy = "created_at"


@admin.register(Deletion)
class DeletionAdmin(ReadOnly):
    list_display = ("pressed_at", "owner", "state", "everything", "expires_at")
    list_filter = ("state", "everything")
    date_hierarchy = "pressed_at"


@admin.register(Tombstone)
class TombstoneAdmin(ReadOnly):
    list_display = ("pressed_at", "owner", "digest")
    date_hierarchy = "pressed_at"


@admin.register(Entity)
class EntityAdmin(ReadOnly):
    list_display = ("name", "type", "owner", "created_at")
    list_filter = ("type",)
    search_fields = ("name",)


@admin.register(Relationship)
class RelationshipAdmin(ReadOnly):
    list_display = ("source", "relation", "target", "valid", "source_fact", "created_at")
    list_filter = ("relation", "valid")
    search_fields = ("source__name", "target__name")
    list_select_related = ("source", "target", "source_fact")


@admin.register(UsageRecord)
class UsageRecordAdmin(ReadOnly):
    list_display = (
        "created_at",
        "purpose",
        "lane",
        "prompt_tokens",
        "cached_tokens",
        "completion_tokens",
        "seconds",
        "outcome",
    )
    list_filter = ("purpose", "lane", "outcome")


@admin.register(OwnerSettings)
class OwnerSettingsAdmin(AnyAdmin):
    list_display = ("owner", "time_zone", "redact_secrets", "faded_through")
    readonly_fields = ("faded_through",)


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnly):
    list_display = ("name", "owner", "created_at", "revoked_at")
    exclude = ("digest",)


@admin.register(Energy)
class EnergyAdmin(ReadOnly):
    list_display = ("level", "measured_at")
