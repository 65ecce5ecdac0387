"""Reads our own export; within a conversation everything must refer to something that is there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext as _

from .parts import Part, shaped
from .problems import BadFile
from .reader import Reader
from .shapes import AppIn, ConversationIn, FactIn, GraphIn, SettingsIn

FORMAT, NEWEST = "memoryapp", 1
_LISTS: dict[str, tuple[Any, Any]] = {
    "apps": ("app", AppIn),
    "conversations": ("conversation", ConversationIn),
    "facts": ("fact", FactIn),
}


def parts(reader: Reader, members: Iterator[str]) -> Iterator[Part]:
    """Yield the parts of a document whose first member, `format`, comes next."""
    if reader.value() != FORMAT:
        raise BadFile(_("this is another program's format"), "format")
    yield Part("source", FORMAT)
    version = None
    for name in members:
        if name == "version":
            version = _version(reader.value())
            continue
        if version is None and (name in _LISTS or name in ("settings", "graph")):
            raise BadFile(_("is missing"), "version")
        if name in _LISTS:
            kind, shape = _LISTS[name]
            for number, _item in enumerate(reader.items()):
                where = f"{name}[{number}]"
                value = shaped(shape, reader.value(where), where)
                if isinstance(value, ConversationIn):
                    check(value, where)
                yield Part(kind, value, where)
        elif name == "settings":
            yield Part("settings", shaped(SettingsIn, reader.value(name), name), name)
        elif name == "graph":
            yield Part("graph", shaped(GraphIn, reader.value(name), name), name)
        else:
            reader.value(name)
    if version is None:
        raise BadFile(_("is missing"), "version")


def check(conversation: ConversationIn, where: str) -> None:
    """Raise BadFile where two messages share a key or a place, or one refers to what is not there."""
    topics = {topic.id for topic in conversation.topics}
    messages = {message.id: message.seq for message in conversation.messages}
    if len(topics) < len(conversation.topics):
        raise BadFile(_("two of them have the same id"), f"{where}.topics")
    keys: set[Any] = set()
    places: set[int] = set()
    for number, message in enumerate(conversation.messages):
        here = f"{where}.messages[{number}]"
        if message.id in keys:
            raise BadFile(_("another message has the same id"), f"{here}.id")
        if message.seq in places:
            raise BadFile(_("another message has the same place"), f"{here}.seq")
        keys.add(message.id)
        places.add(message.seq)
        if message.topic is not None and message.topic not in topics:
            raise BadFile(_("there is no such topic in this conversation"), f"{here}.topic")
        # What replaces comes later, so that no two replace each other.
        if message.replaced_by is not None and messages.get(message.replaced_by, -1) <= message.seq:
            raise BadFile(_("there is no such later message in this conversation"), f"{here}.replaced_by")


def _version(found: Any) -> int:
    if not isinstance(found, int) or found < 1:
        raise BadFile(_("must be a whole number"), "version")
    if found > NEWEST:
        raise BadFile(_("This file is of a newer version of memoryapp. Update this one first."), "version")
    return found
