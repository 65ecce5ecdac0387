"""All that is kept of an owner, as one JSON document in pieces: reads only.

It holds settings, apps with their memories, conversations with their topics and messages, facts with their
history, and the entity graph. What is on its way out is left out, for the owner has deleted it; so are
temporary chats, and the machine's own vectors, hashes and counts, which mean nothing elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import groupby, islice
from typing import Any

from django.db.models import Model
from django.utils import timezone

from chat.models import (
    App,
    AppMemory,
    Conversation,
    Fact,
    FactEvent,
    Message,
    Relationship,
    Topic,
)
from chat.topics.contents import with_contents

from .owners import settings_of

FORMAT, VERSION = "memoryapp", 1
# Messages that are held at once.
_PORTION = 500

_SETTINGS = ("time_zone", "language", "theme", "look_after", "redact_secrets", "prune_after")
_APP = ("id", "slug", "name", "persona", "strategy", "created_at", "archived_at")
_APP_MEMORY = ("id", "content", "metadata", "edited", "source_conversation", "created_at", "updated_at")
_CONVERSATION = (
    *("id", "app", "title", "system_prompt", "strategy", "metadata", "pinned", "memory_mode"),
    *("summary", "created_at", "updated_at", "ended_at"),
)
_TOPIC = ("id", "title", "summary", "importance", "created_at", "last_active_at", "retired_at")
_MESSAGE = (
    *("id", "seq", "role", "content", "state", "failure", "flagged", "topic", "replaced_by"),
    *("tool_calls", "tool_call_id", "name", "created_at"),
)
_FACT = (
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
    *("last_used", "superseded_at", "archived_at"),
)
_EVENT = ("kind", "before", "after", "actor", "reason", "source_message", "created_at")
_ENTITY = ("id", "name", "type", "created_at")
_RELATIONSHIP = ("id", "source", "target", "relation", "valid", "source_fact", "created_at")


def export(owner: Any) -> Iterator[bytes]:
    """Yield the document piece by piece, in UTF-8; a dozen queries and one or two for each 500 messages.

    No transaction holds it together, for a slow reader must not keep others from writing: what changes
    meanwhile is in it as it was or as it is.
    """
    head = {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": timezone.now(),
        "owner": owner.get_username(),
        "settings": _row(settings_of(owner.pk), _SETTINGS),
        "apps": list(_apps(owner)),
    }
    # All but the brace at its end.
    yield _json(head)[:-1]
    for name, rows in (("conversations", _conversations(owner)), ("facts", _facts(owner))):
        yield f',\n"{name}": ['.encode()
        for number, row in enumerate(rows):
            yield (b",\n" if number else b"\n") + _json(row)
        yield b"]"
    yield b',\n"graph": ' + _json(_graph(owner)) + b"}\n"


def _apps(owner: Any) -> Iterator[dict[str, Any]]:
    memories = _by("app_id", AppMemory.objects.for_owner(owner).filter(deletion=None))
    for app in App.objects.for_owner(owner):
        yield {**_row(app, _APP), "memories": [_row(m, _APP_MEMORY) for m in memories.get(app.pk, [])]}


def _conversations(owner: Any) -> Iterator[dict[str, Any]]:
    chats = list(Conversation.objects.for_owner(owner).listed().order_by("created_at", "pk"))
    topics = _by("conversation_id", Topic.objects.for_owner(owner))
    listed = {chat.pk for chat in chats}
    # Both in the same order, so that no more than a portion of messages is held at once.
    spoken = groupby(_spoken(owner), key=lambda message: message.conversation_id)
    here, said = next(spoken, (None, iter(())))
    for chat in chats:
        while here is not None and here not in listed:
            here, said = next(spoken, (None, iter(())))
        row = {**_row(chat, _CONVERSATION), "topics": [_row(t, _TOPIC) for t in topics.get(chat.pk, [])]}
        row["messages"] = [_row(message, _MESSAGE) for message in said] if here == chat.pk else []
        yield row
        if here == chat.pk:
            here, said = next(spoken, (None, iter(())))


def _spoken(owner: Any) -> Iterator[Message]:
    """Yield all messages with their contents, those that were packed away too."""
    rows = Message.objects.for_owner(owner).filter(conversation__deletion=None)
    rows = rows.order_by("conversation__created_at", "conversation", "seq")
    reading = rows.iterator(chunk_size=_PORTION)
    while portion := list(islice(reading, _PORTION)):
        yield from with_contents(portion)


def _facts(owner: Any) -> Iterator[dict[str, Any]]:
    events = _by("fact_id", FactEvent.objects.for_owner(owner).filter(fact__deletion=None))
    kept = Fact.objects.for_owner(owner).filter(deletion=None).defer("embedding")
    for fact in kept.order_by("first_seen", "pk"):
        yield {**_row(fact, _FACT), "history": [_row(event, _EVENT) for event in events.get(fact.pk, [])]}


def _graph(owner: Any) -> dict[str, Any]:
    """Return the ties of facts that are kept, and what they tie together."""
    ties = list(Relationship.objects.for_owner(owner).visible())
    things = {end.pk: end for tie in ties for end in (tie.source, tie.target) if end is not None}
    return {
        "entities": [_row(thing, _ENTITY) for thing in things.values()],
        "relationships": [_row(tie, _RELATIONSHIP) for tie in ties],
    }


def _by(name: str, rows: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return rows by a key that they share."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        found.setdefault(getattr(row, name), []).append(row)
    return found


def _row(row: Model, names: Iterable[str]) -> dict[str, Any]:
    """Return columns by their names; of another row its key."""
    return {name: row.serializable_value(name) for name in names}


def _json(value: Any) -> bytes:
    # Half of a pair, which is no character, comes out as JSON's own escape for it.
    return json.dumps(value, ensure_ascii=False, default=_plain).encode("utf-8", "backslashreplace")


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
