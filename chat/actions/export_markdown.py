"""All that is kept of an owner, to be read by people: Markdown in pieces. It cannot be imported again.

What was replaced or put in the archive, reports, topics and the graph are in the JSON document alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from chat.models import Category, Role

from .export import apps_of, conversations_of, facts_of
from .outline import beneath

_RULE = "\n---\n"
# Headings of what was said stand below that of its chat.
_OF_A_CHAT = 3


def export_markdown(owner: Any) -> Iterator[bytes]:
    """Yield the document piece by piece, in UTF-8, in the language and by the clock that are active."""
    for text in _texts(owner):
        yield f"{text}\n".encode("utf-8", "replace")


def _texts(owner: Any) -> Iterator[str]:
    yield f"# memoryapp\n\n{_('Exported on %s.') % _when(timezone.now())}"
    yield from _memories(owner)
    apps = list(apps_of(owner))
    for app in apps:
        yield from _app(app)
    names = {app["id"]: app["name"] for app in apps}
    yield f"\n## {_('Chats')}"
    for chat in conversations_of(owner):
        yield from _chat(chat, names.get(chat["app"], ""))


def _memories(owner: Any) -> Iterator[str]:
    live = [f for f in facts_of(owner) if f["superseded_at"] is None and f["archived_at"] is None]
    yield f"\n## {_('Memories')}"
    for value, label in Category.choices:
        shelf = [fact for fact in live if fact["category"] == value]
        if shelf:
            yield f"\n### {label}\n"
        for fact in shelf:
            pinned = f" ({_('pinned')})" if fact["pinned"] else ""
            yield f"- {_line(fact['text'])}{pinned}"
            if fact["quote"]:
                yield f"  > {_line(fact['quote'])}"


def _app(app: dict[str, Any]) -> Iterator[str]:
    yield f"\n## {_('App')}: {_line(app['name'])}"
    if app["persona"]:
        yield "\n" + _quoted(app["persona"])
    if app["memories"]:
        yield ""
    for memory in app["memories"]:
        yield f"- {_line(memory['content'])}"


def _chat(chat: dict[str, Any], app: str) -> Iterator[str]:
    title = _line(chat["title"]) or _("New chat")
    yield f"{_RULE}\n### {title}\n\n{_line(app)} · {_when(chat['created_at'])}"
    for message in chat["messages"]:
        if message["replaced_by"] is None and message["content"].strip():
            said = beneath(message["content"].strip("\n").rstrip(), _OF_A_CHAT)
            speaker = {Role.USER: _("You"), Role.ASSISTANT: _("Assistant")}.get(
                message["role"], Role(message["role"]).label
            )
            yield f"\n**{speaker}** · {_when(message['created_at'])}\n\n{said}"


def _line(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in beneath(text, _OF_A_CHAT).split("\n"))


def _when(moment: datetime) -> str:
    return date_format(timezone.localtime(moment), "DATETIME_FORMAT")
