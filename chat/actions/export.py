"""All that is kept of an owner, as one JSON document in pieces: reads only.

What is in it, and what is not, table by table; the import reads the same (`chat.porting.shapes`):

- settings: what the owner chose, and through which day fading has counted. API tokens never.
- apps: all of each, those that were put away too, with their memories as they are.
- conversations: title and who gave it, prompts, strategy, metadata, marks, times; the watermarks of memory,
  of a clear, of summaries and of the app's memory; what the prompt leaves out, the summary that stands in it.
  Left out: the memory block and the prepared compaction, which the next prompt makes anew; the urgency of a
  look and the number of the branch, which concern work at hand. Temporary chats are in no export.
- topics: all but the vector, which the embedder of that place makes; archives unpacked into the messages.
- messages: all of each, replaced ones too, with the note and the report of the prompt (tokens, facts, cuts).
- facts: live, replaced and archived ones with their whole history; the vector is made anew.
- graph: what the facts tie together, what has become obsolete too.

Looks at messages, usage, jobs and energy tell of this machine's work and stay here. What is on its way out is
left out, for the owner has deleted it. Tombstones stay here too: their key is this machine's, and nothing of
what they hide is in the file; an import honours those of the machine that it comes to.

Nothing tells when it was made, and all is in a fixed order, so that the same life gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import date
from functools import cache
from itertools import groupby, islice
from typing import Any

from django.db.models import Model

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

SETTINGS = ("time_zone", "language", "theme", "look_after", "redact_secrets", "prune_after", "faded_through")
APP = ("id", "slug", "name", "persona", "strategy", "created_at", "archived_at")
APP_MEMORY = ("id", "content", "metadata", "edited", "source_conversation", "created_at", "updated_at")
CONVERSATION = (
    *("id", "app", "title", "titled_by", "system_prompt", "strategy", "metadata", "pinned", "memory_mode"),
    *("summary", "summarised_through", "prompt_summary", "trimmed_through", "kept", "cuts"),
    *("cleared_through", "extracted_through", "app_memory_after", "created_at", "updated_at", "ended_at"),
)
TOPIC = (
    *("id", "title", "summary", "summarised_through", "importance", "access_count", "message_count"),
    *("created_at", "last_active_at", "retired_at"),
)
MESSAGE = (
    *("id", "seq", "role", "content", "state", "failure", "note", "flagged", "topic", "replaced_by"),
    *("tool_calls", "tool_call_id", "name", "created_at"),
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
    *("last_used", "idle_days", "superseded_at", "archived_at", "version"),
)
EVENT = ("id", "kind", "before", "after", "actor", "reason", "source_message", "created_at")
ENTITY = ("id", "name", "type", "created_at")
RELATIONSHIP = ("id", "source", "target", "relation", "valid", "source_fact", "created_at")


def export(owner: Any) -> Iterator[bytes]:
    """Yield the document piece by piece, in UTF-8; a dozen queries and one or two for each 500 messages.

    No transaction holds it together, for a slow reader must not keep others from writing: what changes
    meanwhile is in it as it was or as it is.
    """
    head = {
        "format": FORMAT,
        "version": VERSION,
        "owner": owner.get_username(),
        "settings": _row(settings_of(owner.pk), SETTINGS),
        "apps": list(apps_of(owner)),
    }
    # All but the brace at its end.
    yield _json(head)[:-1]
    for name, rows in (("conversations", conversations_of(owner)), ("facts", facts_of(owner))):
        yield f',\n"{name}": ['.encode()
        for number, row in enumerate(rows):
            yield (b",\n" if number else b"\n") + _json(row)
        yield b"]"
    yield b',\n"graph": ' + _json(_graph(owner)) + b"}\n"


def apps_of(owner: Any) -> Iterator[dict[str, Any]]:
    """Yield each app with its memories."""
    memories = _by(
        "app_id", AppMemory.objects.for_owner(owner).filter(deletion=None).order_by("created_at", "pk")
    )
    for app in App.objects.for_owner(owner).order_by("created_at", "pk"):
        yield {**_row(app, APP), "memories": [_row(m, APP_MEMORY) for m in memories.get(app.pk, [])]}


def conversations_of(owner: Any) -> Iterator[dict[str, Any]]:
    """Yield each conversation with its topics and messages."""
    chats = list(Conversation.objects.for_owner(owner).listed().order_by("created_at", "pk"))
    topics = _by("conversation_id", Topic.objects.for_owner(owner).order_by("created_at", "pk"))
    listed = {chat.pk for chat in chats}
    # Both in the same order, so that no more than a portion of messages is held at once.
    spoken = groupby(_spoken(owner), key=lambda message: message.conversation_id)
    here, said = next(spoken, (None, iter(())))
    for chat in chats:
        while here is not None and here not in listed:
            here, said = next(spoken, (None, iter(())))
        row = {**_row(chat, CONVERSATION), "topics": [_row(t, TOPIC) for t in topics.get(chat.pk, [])]}
        known = {topic["id"] for topic in row["topics"]}
        row["messages"] = [_message(message, known) for message in said] if here == chat.pk else []
        yield row
        if here == chat.pk:
            here, said = next(spoken, (None, iter(())))


def _message(message: Message, topics: Collection[Any]) -> dict[str, Any]:
    """Return a message, without a topic that was opened since they were read: no import could take it."""
    report = getattr(message, "report", None)
    row = {**_row(message, MESSAGE), "report": _row(report, REPORT) if report else None}
    return row if row["topic"] in topics else {**row, "topic": None}


def _spoken(owner: Any) -> Iterator[Message]:
    """Yield all messages with their contents, those that were packed away too."""
    rows = Message.objects.for_owner(owner).filter(conversation__deletion=None).select_related("report")
    rows = rows.order_by("conversation__created_at", "conversation", "seq")
    reading = rows.iterator(chunk_size=_PORTION)
    while portion := list(islice(reading, _PORTION)):
        yield from with_contents(portion)


def facts_of(owner: Any) -> Iterator[dict[str, Any]]:
    """Yield each fact with its history."""
    events = _by("fact_id", _history(owner))
    kept = Fact.objects.for_owner(owner).filter(deletion=None).defer("embedding")
    for fact in kept.order_by("first_seen", "pk"):
        yield {**_row(fact, FACT), "history": [_row(event, EVENT) for event in events.get(fact.pk, [])]}


def _history(owner: Any) -> Iterable[FactEvent]:
    return FactEvent.objects.for_owner(owner).filter(fact__deletion=None).order_by("created_at", "pk")


def _graph(owner: Any) -> dict[str, Any]:
    """Return the ties of facts that are kept, and what they tie together."""
    ties = list(Relationship.objects.for_owner(owner).visible())
    things = {end.pk: end for tie in ties for end in (tie.source, tie.target) if end is not None}
    return {
        "entities": [_row(thing, ENTITY) for thing in things.values()],
        "relationships": [_row(tie, RELATIONSHIP) for tie in ties],
    }


def _by(name: str, rows: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return rows by a key that they share."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        found.setdefault(getattr(row, name), []).append(row)
    return found


def _row(row: Model, names: tuple[str, ...]) -> dict[str, Any]:
    """Return columns by their names; of another row its key."""
    values = row.__dict__
    return {name: values[column] for name, column in _columns(type(row), names)}


@cache
def _columns(model: type[Model], names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(name, model._meta.get_field(name).attname) for name in names]  # type: ignore[union-attr]


def _json(value: Any) -> bytes:
    # Half of a pair, which is no character, comes out as JSON's own escape for it.
    return json.dumps(value, ensure_ascii=False, default=_plain).encode("utf-8", "backslashreplace")


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)
