"""Exports everything stored for an owner as one JSON document, in chunks; reads only.

The content, table by table; the import reads the same format (`chat.porting.shapes`):

- settings: the owner's choices, and the day through which decay was applied. Never API tokens.
- apps: all of them, including archived ones, with their app memories.
- conversations: title and who gave it, prompts, strategy, metadata, flags, times; the watermarks of
  extraction, of /clear, of summaries and of app memories; the prompt's summary and omitted messages.
  The memory block and the prepared compaction are omitted, because the next prompt rebuilds them; so are the
  extraction's urgency and the branch number, which concern running work. Temporary conversations are omitted.
- topics: all but the vector, which the importing machine computes; archives are unpacked into the messages,
  so up to where one was restored is omitted too.
- messages: all, including replaced ones, with the turn note and the prompt report (tokens, facts, cuts).
  Whether a program sent a message is omitted, because it matters only until memory has read the message; so
  is its order among deletions, which are omitted too.
- facts: live, superseded and archived ones with their history; without vectors.
- graph: the relationships of these facts, including obsolete ones, and their entities.

Extraction runs, outcomes of requests, usage, jobs and energy describe this machine's work and are omitted. So
is everything pending deletion. Tombstones are omitted, because their hash key is this machine's and the file
contains nothing that they hide; an import applies the tombstones of its own machine.

The document contains no export time and has a fixed order, so the same data gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import date
from functools import cache
from itertools import groupby, islice
from typing import Any

from django.db.models import Model

from chat.errors import to_english
from chat.models import (
    App,
    AppMemory,
    Conversation,
    Fact,
    FactEvent,
    Message,
    Relationship,
    Topic,
    User,
)
from chat.topics.contents import load_contents

from .owners import settings_of

FORMAT, VERSION = "memoryapp", 1
# Messages held in memory at once.
_PORTION = 500

SETTINGS = (
    *("time_zone", "language", "theme", "look_after", "redact_secrets", "use_past_chats"),
    *("send_past_chats", "offer_past_chats", "prune_after", "faded_through"),
)
APP = ("id", "slug", "name", "persona", "strategy", "created_at", "archived_at")
APP_MEMORY = ("id", "content", "metadata", "edited", "source_conversation", "created_at", "updated_at")
CONVERSATION = (
    *("id", "app", "title", "titled_by", "system_prompt", "strategy", "metadata", "pinned", "memory_mode"),
    *("summary", "summarised_through", "prompt_summary", "trimmed_through", "kept", "cuts"),
    *("cleared_through", "extracted_through", "app_memory_after", "created_at", "updated_at", "ended_at"),
    "use_past_chats",
    "use_reasoning",
)
TOPIC = (
    *("id", "title", "summary", "summarised_through", "importance", "access_count", "message_count"),
    *("created_at", "last_active_at", "retired_at"),
)
MESSAGE = (
    *(
        "id",
        "seq",
        "role",
        "content",
        "state",
        "failure",
        "cut_off",
        "note",
        "flagged",
        "importance",
        "topic",
        "replaced_by",
    ),
    *("tool_calls", "tool_call_id", "name", "created_at", "date_inferred"),
)
REPORT = (
    *("sections", "facts", "left_out", "cut_messages", "stage", "shortened", "prompt_tokens"),
    *("cached_tokens", "completion_tokens", "window", "first_token_ms", "created_at"),
)
FACT = (
    *(
        "id",
        "text",
        "category",
        "kind",
        "subject",
        "confidence",
        "mention_count",
        "pinned",
        "origin",
        "quote",
    ),
    *("language", "source_conversation", "source_message", "supersedes", "first_seen", "last_seen"),
    *("last_seen_conversation", "last_used", "idle_days", "holds_from", "holds_until", "said_on"),
    *("superseded_at", "archived_at", "heard_once", "version"),
)
EVENT = ("id", "kind", "before", "after", "actor", "reason", "source_message", "created_at")
ENTITY = ("id", "name", "type", "created_at")
RELATIONSHIP = ("id", "source", "target", "relation", "valid", "source_fact", "created_at")


def export_json(owner: User) -> Iterator[bytes]:
    """Yield the document in chunks, in UTF-8; a dozen queries, and one or two for each 500 messages.

    No transaction spans the export, because a slow reader would block writers: a change during the export
    appears in its old or in its new state.
    """
    head = {
        "format": FORMAT,
        "version": VERSION,
        "owner": owner.get_username(),
        "settings": _select_columns(settings_of(owner.pk), SETTINGS),
        "apps": list(export_apps(owner)),
    }
    # Without the closing brace.
    yield _json(head)[:-1]
    for name, rows in (("conversations", export_conversations(owner)), ("facts", export_facts(owner))):
        yield f',\n"{name}": ['.encode()
        for number, row in enumerate(rows):
            yield (b",\n" if number else b"\n") + _json(row)
        yield b"]"
    yield b',\n"graph": ' + _json(_build_graph(owner)) + b"}\n"


def export_apps(owner: User) -> Iterator[dict[str, Any]]:
    """Yield each app with its memories."""
    memories = _group_by(
        "app_id", AppMemory.objects.for_owner(owner).filter(deletion=None).order_by("created_at", "pk")
    )
    for app in App.objects.for_owner(owner).order_by("created_at", "pk"):
        yield {
            **_select_columns(app, APP),
            "memories": [_select_columns(m, APP_MEMORY) for m in memories.get(app.pk, [])],
        }


def export_conversations(owner: User) -> Iterator[dict[str, Any]]:
    """Yield each conversation with its topics and messages."""
    chats = list(Conversation.objects.for_owner(owner).listed().order_by("created_at", "pk"))
    topics = _group_by("conversation_id", Topic.objects.for_owner(owner).order_by("created_at", "pk"))
    listed = {chat.pk for chat in chats}
    # Both are in the same order, so that only one portion of messages is held at once.
    grouped = groupby(_iterate_messages(owner), key=lambda message: message.conversation_id)
    current, current_messages = next(grouped, (None, iter(())))
    for chat in chats:
        while current is not None and current not in listed:
            current, current_messages = next(grouped, (None, iter(())))
        row = {
            **_select_columns(chat, CONVERSATION),
            "topics": [_select_columns(t, TOPIC) for t in topics.get(chat.pk, [])],
        }
        known = {topic["id"] for topic in row["topics"]}
        row["messages"] = (
            [_build_message(message, known) for message in current_messages] if current == chat.pk else []
        )
        yield row
        if current == chat.pk:
            current, current_messages = next(grouped, (None, iter(())))


def _build_message(message: Message, topics: Collection[Any]) -> dict[str, Any]:
    """Return a message, without a topic that was opened after the topics were read: it is not in the file."""
    report = getattr(message, "report", None)
    row = {
        **_select_columns(message, MESSAGE),
        "failure": to_english(message.failure),
        # Without the key of the deletion, which stays on this machine.
        "kept_out": [mark[:2] for mark in message.kept_out],
        "report": _select_columns(report, REPORT) if report else None,
    }
    return row if row["topic"] in topics else {**row, "topic": None}


def _iterate_messages(owner: User) -> Iterator[Message]:
    """Yield all messages with their contents, unpacked from topic archives."""
    rows = Message.objects.for_owner(owner).filter(conversation__deletion=None).select_related("report")
    rows = rows.order_by("conversation__created_at", "conversation", "seq")
    rows_iterator = rows.iterator(chunk_size=_PORTION)
    while portion := list(islice(rows_iterator, _PORTION)):
        yield from load_contents(portion)


def export_facts(owner: User) -> Iterator[dict[str, Any]]:
    """Yield each fact with its history."""
    events = _group_by("fact_id", _iterate_events(owner))
    visible = Fact.objects.for_owner(owner).filter(deletion=None).defer("embedding")
    for fact in visible.order_by("first_seen", "pk"):
        yield {
            **_select_columns(fact, FACT),
            "history": [_select_columns(event, EVENT) for event in events.get(fact.pk, [])],
        }


def _iterate_events(owner: User) -> Iterable[FactEvent]:
    return FactEvent.objects.for_owner(owner).filter(fact__deletion=None).order_by("created_at", "pk")


def _build_graph(owner: User) -> dict[str, Any]:
    """Return the relationships of visible facts and the entities that they connect."""
    relationships = list(Relationship.objects.for_owner(owner).visible())
    entities = {
        end.pk: end
        for relationship in relationships
        for end in (relationship.source, relationship.target)
        if end is not None
    }
    return {
        "entities": [_select_columns(entity, ENTITY) for entity in entities.values()],
        "relationships": [_select_columns(relationship, RELATIONSHIP) for relationship in relationships],
    }


def _group_by(name: str, rows: Iterable[Any]) -> dict[Any, list[Any]]:
    """Group rows by an attribute."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        found.setdefault(getattr(row, name), []).append(row)
    return found


def _select_columns(row: Model, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the named columns; for a foreign key its key."""
    values = row.__dict__
    return {name: values[column] for name, column in _column_names(type(row), names)}


@cache
def _column_names(model: type[Model], names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(name, model._meta.get_field(name).attname) for name in names]  # type: ignore[union-attr]


def _json(value: Any) -> bytes:
    # A lone surrogate becomes its JSON escape.
    return json.dumps(value, ensure_ascii=False, default=_to_json_value).encode("utf-8", "backslashreplace")


def _to_json_value(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
