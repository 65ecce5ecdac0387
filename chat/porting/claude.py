"""Reads `conversations.json` of Claude: `chat_messages` in order, newer exports with `parent_message_uuid`.

The text is in `content`, a list of blocks, or in older exports in `text`. Attachments are imported where
their text is in the export, and so is the content of artifacts. Reasoning, tool calls and their results are
left out.
"""

from __future__ import annotations

from typing import Any

from chat.errors import BadFile

from .common import (
    ParsedMessage,
    build_conversation,
    describe_skipped_file,
    fence_code,
    fill_in_dates,
    flatten_tree,
    join_text,
    make_uuid,
    parse_optional_time,
    parse_time,
    require_list,
    require_object,
)
from .parts import FilePart

SOURCE, MARKS = "claude", ("chat_messages",)
_ROLES = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}
# Types of blocks that hold the text.
_SPOKEN = ("text", "voice_note")


def read_item(value: Any, where: str) -> FilePart:
    """Return one conversation. Raises BadFile."""
    chat = require_object(value, where)
    if not chat.get("uuid"):
        raise BadFile("field-missing", f"{where}.uuid")
    begun = parse_time(chat.get("created_at"), f"{where}.created_at")
    roots, last = _build_tree(require_list(chat["chat_messages"], f"{where}.chat_messages"), where)
    fill_in_dates(roots, begun, begun)
    messages = flatten_tree(roots, chat.get("current_leaf_message_uuid") or last)
    times = (begun, parse_optional_time(chat.get("updated_at"), f"{where}.updated_at") or begun)
    return FilePart(
        "conversation", build_conversation(SOURCE, chat["uuid"], chat.get("name"), messages, times), where
    )


def _build_tree(rows: list[Any], where: str) -> tuple[list[ParsedMessage], str | None]:
    """Return the root messages, each with its children, and the id of the last message."""
    said: dict[str, ParsedMessage] = {}
    # Messages without text are left out; their children get the nearest ancestor with text as parent.
    instead: dict[str, str | None] = {}
    roots: list[ParsedMessage] = []
    previous: str | None = None
    for number, raw in enumerate(rows):
        here = f"{where}.chat_messages[{number}]"
        message = require_object(raw, here)
        name = str(message.get("uuid") or "")
        if not name or name in said or name in instead:
            raise BadFile("file-message-id-unusable", f"{here}.uuid")
        parent = str(message["parent_message_uuid"]) if message.get("parent_message_uuid") else previous
        while parent in instead:
            parent = instead[str(parent)]
        fields = _parse_fields(message, here)
        if not fields["content"]:
            instead[name] = parent
            continue
        row = said[name] = ParsedMessage(name, parent, fields)
        # The first messages name a parent that is not in the export.
        (said[parent].children if parent in said else roots).append(row)
        previous = name
    return roots, previous


def _parse_fields(message: dict[str, Any], where: str) -> dict[str, Any]:
    role = _ROLES.get(str(message.get("sender")))
    if role is None:
        raise BadFile("field-not-a-choice", f"{where}.sender")
    blocks = [b for b in require_list(message.get("content"), f"{where}.content") if isinstance(b, dict)]
    said = [_extract_block(b) for b in blocks]
    if not any(piece.strip() for piece in said):
        said = [] if any(b.get("type") not in _SPOKEN for b in blocks) else [str(message.get("text") or "")]
    for name in ("attachments", "files"):
        for file in require_list(message.get(name), f"{where}.{name}"):
            said.append(_extract_attachment(file) if isinstance(file, dict) else "")
    return {
        "id": make_uuid(message["uuid"], SOURCE),
        "role": role,
        "content": join_text(said),
        "created_at": parse_optional_time(message.get("created_at"), f"{where}.created_at"),
    }


def _extract_block(block: dict[str, Any]) -> str:
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
    return f"{title}\n\n{fence_code(text, language if isinstance(language, str) else '')}".strip()


def _extract_attachment(file: dict[str, Any]) -> str:
    name = str(file.get("file_name") or "")
    text = str(file.get("extracted_content") or "")
    if not text:
        return describe_skipped_file(name) if name else ""
    return f"{name}\n\n{fence_code(text)}".strip()
