"""Exports an owner's data as Markdown for reading, in chunks; it cannot be imported again.

Superseded and archived facts, reports, topics and the graph are only in the JSON export.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from chat.models import Category, Role, User

from .export import export_apps, export_conversations, export_facts

_RULE = "\n---\n"
# The level of a conversation's heading; headings in its messages are nested below it.
_CONVERSATION_LEVEL = 3
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)")
# A line like this turns the paragraph above it into a heading.
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
# HTML that, in viewers that allow it, swallows the following text up to its own end mark.
_OPEN_ENDED_HTML = re.compile(r"^( {0,3})(?=<(?:!|\?|/?(?:script|style|pre|textarea)\b))", re.IGNORECASE)
_MAX_LEVEL = 6


def export_markdown(owner: User) -> Iterator[bytes]:
    """Yield the document in chunks, in UTF-8, in the active language and time zone."""
    for text in _iterate_texts(owner):
        yield f"{text}\n".encode("utf-8", "replace")


def _iterate_texts(owner: User) -> Iterator[str]:
    yield f"# memoryapp\n\n{_('Exported on %s.') % _format_time(timezone.now())}"
    yield from _iterate_memories(owner)
    apps = list(export_apps(owner))
    for app in apps:
        yield from _iterate_app(app)
    names = {app["id"]: app["name"] for app in apps}
    yield f"\n## {_('Chats')}"
    for chat in export_conversations(owner):
        yield from _iterate_chat(chat, names.get(chat["app"], ""))


def _iterate_memories(owner: User) -> Iterator[str]:
    live = [f for f in export_facts(owner) if f["superseded_at"] is None and f["archived_at"] is None]
    yield f"\n## {_('Memories')}"
    for value, label in Category.choices:
        facts = [fact for fact in live if fact["category"] == value]
        if facts:
            yield f"\n### {label}\n"
        for fact in facts:
            pinned = f" ({_('pinned')})" if fact["pinned"] else ""
            yield f"- {_one_line(fact['text'])}{pinned}"
            if fact["quote"]:
                yield f"  > {_one_line(fact['quote'])}"


def _iterate_app(app: dict[str, Any]) -> Iterator[str]:
    yield f"\n## {_('App')}: {_one_line(app['name'])}"
    if app["persona"]:
        yield "\n" + _block_quote(app["persona"])
    if app["memories"]:
        yield ""
    for memory in app["memories"]:
        yield f"- {_one_line(memory['content'])}"


def _iterate_chat(chat: dict[str, Any], app: str) -> Iterator[str]:
    title = _one_line(chat["title"]) or _("New chat")
    yield f"{_RULE}\n### {title}\n\n{_one_line(app)} · {_format_time(chat['created_at'])}"
    for message in chat["messages"]:
        if message["replaced_by"] is None and message["content"].strip():
            text = nest_markdown(message["content"].strip("\n").rstrip(), _CONVERSATION_LEVEL)
            speaker = {Role.USER: _("You"), Role.ASSISTANT: _("Assistant")}.get(
                message["role"], Role(message["role"]).label
            )
            yield f"\n**{speaker}** · {_format_time(message['created_at'])}\n\n{text}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _block_quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in nest_markdown(text, _CONVERSATION_LEVEL).split("\n"))


def _format_time(moment: datetime) -> str:
    return date_format(timezone.localtime(moment), "DATETIME_FORMAT")


def nest_markdown(text: str, level: int) -> str:
    """Return Markdown with its headings moved below a level and its open code block closed.

    The content of code blocks stays unchanged.
    """
    return "\n".join(_lines(text, level))


def _lines(text: str, level: int) -> Iterator[str]:
    open_fence, previous = "", ""
    for line in text.replace("\r\n", "\n").split("\n"):
        fence = _FENCE.fullmatch(line)
        if open_fence:
            if fence and fence[1].startswith(open_fence) and not fence[2].strip():
                open_fence = ""
            yield line
        elif fence and not (fence[1][0] == "`" and "`" in fence[2]):
            open_fence = fence[1]
            yield line
        elif previous.strip() and _UNDERLINE.fullmatch(line):
            # Dashes become a rule, which most authors mean; other underlines are escaped.
            yield f"\n{line}" if line.strip().startswith("---") else f"\\{line.strip()}"
        else:
            yield (
                _OPEN_ENDED_HTML.sub(r"\1\\", _lower_heading(line, level), count=1)
                if line[:4].strip()
                else line
            )
        previous = "" if open_fence or fence else line
    if open_fence:
        yield open_fence


def _lower_heading(line: str, level: int) -> str:
    return _HEADING.sub(lambda m: m[1] + "#" * min(_MAX_LEVEL, level + len(m[2])), line, count=1)
