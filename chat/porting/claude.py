"""Reads `conversations.json` of Claude: `chat_messages` in order, newer ones with `parent_message_uuid`.

A message says its words in `content`, a list of blocks, or in older files in `text`. What was attached is
taken where its text is there, and so is what an artifact was made of; thoughts, tools and their results are
left out.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from .parts import Part
from .problems import BadFile
from .said import (
    Said,
    as_list,
    as_object,
    conversation,
    date,
    fenced,
    in_line,
    key,
    known,
    moment,
    not_taken,
    text_of,
)

SOURCE, MARKS = "claude", ("chat_messages",)
_ROLES = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}
# Blocks of words, written or spoken.
_SPOKEN = ("text", "voice_note")


def part(value: Any, where: str) -> Part:
    """Return one conversation."""
    chat = as_object(value, where)
    if not chat.get("uuid"):
        raise BadFile(_("is missing"), f"{where}.uuid")
    begun = moment(chat.get("created_at"), f"{where}.created_at")
    roots, last = _tree(as_list(chat["chat_messages"], f"{where}.chat_messages"), where)
    date(roots, begun, begun)
    messages = in_line(roots, chat.get("current_leaf_message_uuid") or last)
    times = (begun, known(chat.get("updated_at"), f"{where}.updated_at") or begun)
    return Part("conversation", conversation(SOURCE, chat["uuid"], chat.get("name"), messages, times), where)


def _tree(rows: list[Any], where: str) -> tuple[list[Said], str | None]:
    """Return the first messages, each with those that follow it, and the last that was said."""
    said: dict[str, Said] = {}
    # A message that says nothing is passed over: its answers answer what it answered.
    instead: dict[str, str | None] = {}
    roots: list[Said] = []
    previous: str | None = None
    for number, raw in enumerate(rows):
        here = f"{where}.chat_messages[{number}]"
        message = as_object(raw, here)
        name = str(message.get("uuid") or "")
        if not name or name in said or name in instead:
            raise BadFile(_("is missing, or another message has the same"), f"{here}.uuid")
        parent = str(message["parent_message_uuid"]) if message.get("parent_message_uuid") else previous
        while parent in instead:
            parent = instead[str(parent)]
        fields = _fields(message, here)
        if not fields["content"]:
            instead[name] = parent
            continue
        row = said[name] = Said(name, parent, fields)
        # The first messages of all have a parent that is not there.
        (said[parent].children if parent in said else roots).append(row)
        previous = name
    return roots, previous


def _fields(message: dict[str, Any], where: str) -> dict[str, Any]:
    role = _ROLES.get(str(message.get("sender")))
    if role is None:
        raise BadFile(_("is none of the words that may stand here"), f"{where}.sender")
    blocks = [b for b in as_list(message.get("content"), f"{where}.content") if isinstance(b, dict)]
    said = [_block(b) for b in blocks]
    if not any(piece.strip() for piece in said):
        said = [] if any(b.get("type") not in _SPOKEN for b in blocks) else [str(message.get("text") or "")]
    for name in ("attachments", "files"):
        for file in as_list(message.get(name), f"{where}.{name}"):
            said.append(_attached(file) if isinstance(file, dict) else "")
    return {
        "id": key(message["uuid"], SOURCE),
        "role": role,
        "content": text_of(said),
        "created_at": known(message.get("created_at"), f"{where}.created_at"),
    }


def _block(block: dict[str, Any]) -> str:
    if block.get("type") in _SPOKEN:
        return str(block.get("text") or "")
    made = block.get("input")
    if (
        block.get("name") != "artifacts"
        or not isinstance(made, dict)
        or not isinstance(made.get("content"), str)
    ):
        return ""
    title, text = str(made.get("title") or ""), made["content"]
    if made.get("type") == "text/markdown":
        return f"{title}\n\n{text}".strip()
    language = made.get("language")
    return f"{title}\n\n{fenced(text, language if isinstance(language, str) else '')}".strip()


def _attached(file: dict[str, Any]) -> str:
    name = str(file.get("file_name") or "")
    text = str(file.get("extracted_content") or "")
    if not text:
        return not_taken(name) if name else ""
    return f"{name}\n\n{fenced(text)}".strip()
