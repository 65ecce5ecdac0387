"""Conversations, messages, prompt reports, the search index and topics."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

from chat.models import (
    Conversation,
    Message,
    MessageWindow,
    PromptReport,
    Quotation,
    SearchEntry,
    Topic,
    TopicArchive,
)
from chat.topics.contents import load_contents

from .base import ReadOnly, shortened


@admin.register(Conversation)
class ConversationAdmin(ReadOnly):
    """Conversations, with the positions up to which facts are extracted and the prompt is trimmed."""

    list_display = (
        *("__str__", "app", "owner", "memory_mode", "pinned", "extracted_through", "trimmed_through"),
        *("created_at", "updated_at", "ended_at"),
    )
    list_filter = (
        *("memory_mode", "temporary", "pinned", ("ended_at", admin.EmptyFieldListFilter)),
        *(("deletion", admin.EmptyFieldListFilter), "app", "owner"),
    )
    search_fields = ("title", "summary")
    list_select_related = ("app", "owner")
    date_hierarchy = "updated_at"


@admin.register(Message)
class MessageAdmin(ReadOnly):
    """Messages; contents of packed ones are loaded from their archives."""

    list_display = ("text", "role", "state", "conversation", "seq", "flagged", "failure", "created_at")
    list_filter = ("role", "state", "flagged", ("archive", admin.EmptyFieldListFilter))
    search_fields = ("content", "failure", "conversation__title")
    search_help_text = "Packed messages are not found by their contents."
    list_select_related = ("conversation",)
    date_hierarchy = "created_at"
    ordering = ("-created_at", "-seq")
    fields = (
        *("conversation", "seq", "role", "whole_text", "state", "failure", "cut_off", "note", "flagged"),
        "topic",
        *("archive", "replaced_by", "tool_calls", "tool_call_id", "name", "created_at"),
    )

    @admin.display(description="content", ordering="content")
    def text(self, message: Message) -> str:
        """Return the beginning of the content, or that it is packed."""
        return "(packed)" if message.archive_id else shortened(message.content) or "(empty)"

    @admin.display(description="content")
    def whole_text(self, message: Message) -> str:
        """Return the whole content, loaded from the archive where it is packed."""
        packed, content = message.archive_id, load_contents([message])[0].content
        return f"(packed) {content}" if packed else content


@admin.register(PromptReport)
class PromptReportAdmin(ReadOnly):
    """Prompt reports of replies."""

    list_display = (
        *("reply", "conversation", "prompt_tokens", "cached_tokens", "completion_tokens", "first_token_ms"),
        *("stage", "cut_messages", "memories", "created_at"),
    )
    list_filter = ("stage", "shortened")
    search_fields = ("reply__conversation__title",)
    list_select_related = ("reply__conversation",)
    date_hierarchy = "created_at"

    @admin.display(description="conversation")
    def conversation(self, report: PromptReport) -> Any:
        """Return the conversation of the reply."""
        return report.reply.conversation

    @admin.display(description="memories")
    def memories(self, report: PromptReport) -> int:
        """Return the number of facts in the prompt."""
        return len(report.facts)


@admin.register(SearchEntry)
class SearchEntryAdmin(ReadOnly):
    """Entries of the full-text index, one for each message and title."""

    list_display = ("id", "beginning", "conversation", "message", "owner")
    list_filter = (("message", admin.EmptyFieldListFilter), "owner")
    search_fields = ("words", "conversation__title")
    search_help_text = "Words as the index stores them: lower case, without accents."
    list_select_related = ("conversation", "message", "owner")
    date_hierarchy = "conversation__updated_at"
    ordering = ("-id",)

    @admin.display(description="words")
    def beginning(self, entry: SearchEntry) -> str:
        """Return the first indexed words."""
        return shortened(entry.words)


@admin.register(Topic)
class TopicAdmin(ReadOnly):
    """Topics of conversations."""

    list_display = (
        *("title", "conversation", "importance", "access_count", "message_count", "last_active_at"),
        "retired_at",
    )
    list_filter = (("retired_at", admin.EmptyFieldListFilter),)
    search_fields = ("title", "summary", "conversation__title")
    list_select_related = ("conversation",)
    date_hierarchy = "last_active_at"
    exclude = ("embedding",)


@admin.register(TopicArchive)
class TopicArchiveAdmin(ReadOnly):
    """Archives of packed messages; their contents are shown with the messages."""

    list_display = ("topic", "count", "sha256", "created_at")
    search_fields = ("topic__title", "sha256")
    list_select_related = ("topic",)
    date_hierarchy = "created_at"
    exclude = ("data",)


@admin.register(MessageWindow)
class MessageWindowAdmin(ReadOnly):
    """Windows of messages in the index by meaning."""

    list_display = ("id", "message", "start", "end", "embedder", "owner")
    list_filter = ("embedder", "owner")
    search_fields = ("message__conversation__title",)
    list_select_related = ("message", "owner")
    date_hierarchy = "message__created_at"
    ordering = ("-id",)
    exclude = ("vector",)


@admin.register(Quotation)
class QuotationAdmin(ReadOnly):
    """Quotations from past conversations in the notes of messages."""

    list_display = ("message", "source", "start", "end", "place")
    search_fields = ("message__conversation__title", "source__conversation__title")
    list_select_related = ("message", "source")
    date_hierarchy = "message__created_at"
