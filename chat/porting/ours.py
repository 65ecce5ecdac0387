"""Reads the export of this program.

References within a conversation must point to items of the same conversation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chat.errors import BadFile

from .parts import BrokenItem, FilePart, validate_shape
from .reader import Reader
from .shapes import ImportedApp, ImportedConversation, ImportedFact, ImportedGraph, ImportedSettings

FORMAT, NEWEST = "memoryapp", 1
_LISTS: dict[str, tuple[Any, Any]] = {
    "apps": ("app", ImportedApp),
    "conversations": ("conversation", ImportedConversation),
    "facts": ("fact", ImportedFact),
}


def read_export(reader: Reader, members: Iterator[str]) -> Iterator[FilePart]:
    """Yield the parts of an export whose first member, `format`, is next."""
    if reader.value() != FORMAT:
        raise BadFile("file-format-unknown", "format")
    yield FilePart("source", FORMAT)
    version = None
    for name in members:
        if name == "version":
            version = _version(reader.value())
            continue
        if version is None and (name in _LISTS or name in ("settings", "graph")):
            raise BadFile("field-missing", "version")
        if name in _LISTS:
            kind, shape = _LISTS[name]
            for number, _item in enumerate(reader.items()):
                where = f"{name}[{number}]"
                found = reader.value(where)
                try:
                    value = validate_shape(shape, found, where)
                    if isinstance(value, ImportedConversation):
                        check_references(value, where)
                except BadFile as fault:
                    if kind == "app":
                        # Conversations and settings refer to it.
                        raise
                    yield FilePart("broken", BrokenItem(kind, fault), where)
                    continue
                yield FilePart(kind, value, where)
        elif name == "settings":
            yield FilePart("settings", validate_shape(ImportedSettings, reader.value(name), name), name)
        elif name == "graph":
            yield FilePart("graph", validate_shape(ImportedGraph, reader.value(name), name), name)
        else:
            reader.value(name)
    if version is None:
        raise BadFile("field-missing", "version")


def check_references(conversation: ImportedConversation, where: str) -> None:
    """Raise BadFile where two messages share an id or a `seq`, or where a message refers to an item that does
    not exist.
    """
    topics = {topic.id for topic in conversation.topics}
    messages = {message.id: message.seq for message in conversation.messages}
    if len(topics) < len(conversation.topics):
        raise BadFile("file-topic-id-twice", f"{where}.topics")
    keys: set[Any] = set()
    places: set[int] = set()
    for number, message in enumerate(conversation.messages):
        here = f"{where}.messages[{number}]"
        if message.id in keys:
            raise BadFile("file-message-id-twice", f"{here}.id")
        if message.seq in places:
            raise BadFile("file-message-place-twice", f"{here}.seq")
        keys.add(message.id)
        places.add(message.seq)
        if message.topic is not None and message.topic not in topics:
            raise BadFile("file-topic-unknown", f"{here}.topic")
        # A replacement has a larger `seq`, so messages cannot replace each other in a cycle.
        if message.replaced_by is not None and messages.get(message.replaced_by, -1) <= message.seq:
            raise BadFile("file-replacement-unknown", f"{here}.replaced_by")


def _version(found: Any) -> int:
    if not isinstance(found, int) or found < 1:
        raise BadFile("field-not-a-whole-number", "version")
    if found > NEWEST:
        raise BadFile("file-version-newer", "version")
    return found
