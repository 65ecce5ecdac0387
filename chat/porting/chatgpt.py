"""Reads `conversations.json` of ChatGPT: each conversation is a tree of messages, of which one branch is
displayed.

A node has `message` (or null), `parent` and `children`. `current_node` is the end of the displayed branch and
may be hidden itself. Images, recordings and files are replaced by their names; messages that ChatGPT does not
display are left out. A conversation may have no `mapping`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from chat.errors import BadFile
from chat.models import MemoryMode

from .common import (
    ParsedMessage,
    build_conversation,
    describe_skipped_file,
    fill_in_dates,
    flatten_tree,
    join_text,
    make_uuid,
    parse_optional_time,
    require_list,
    require_object,
)
from .parts import FilePart

SOURCE, MARKS = "chatgpt", ("mapping", "conversation_id")
_ROLES = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}
# Content types of the model's reasoning, and of what ChatGPT tells the model about the user.
_HIDDEN = {"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context", "system_error"}


def read_item(value: Any, where: str) -> FilePart:
    """Return one conversation. Raises BadFile."""
    chat = require_object(value, where)
    mapping = require_object(chat.get("mapping") or {}, f"{where}.mapping")
    begun = parse_optional_time(chat.get("create_time"), f"{where}.create_time")
    changed = parse_optional_time(chat.get("update_time"), f"{where}.update_time")
    said = _parse_messages(mapping, f"{where}.mapping")
    dates = [at for row in said.values() if row is not None and (at := row.fields["created_at"])]
    shown = begun or min(dates, default=changed or datetime.now(UTC).replace(microsecond=0))
    roots = _build_tree(mapping, said, f"{where}.mapping", begun, shown)
    messages = flatten_tree(
        roots, _find_displayed_end(mapping, said, chat.get("current_node"), f"{where}.mapping")
    )
    raw = chat.get("conversation_id") or chat.get("id")
    if not raw:
        raise BadFile("field-missing", f"{where}.id")
    times = (shown, changed or max((m.created_at for m in messages), default=shown))
    built = build_conversation(SOURCE, raw, chat.get("title"), messages, times)
    if chat.get("is_do_not_remember") is True:
        # The user told ChatGPT not to remember this chat, so memory reads it under no option.
        built.memory_mode = MemoryMode.OFF
    return FilePart("conversation", built, where)


def _parse_messages(mapping: dict[str, Any], where: str) -> dict[str, ParsedMessage | None]:
    """Return the messages by their node; None for a node without a message that is imported."""
    said: dict[str, ParsedMessage | None] = {}
    keys: set[Any] = set()
    for name, node in mapping.items():
        row = said[name] = _parse_message(name, require_object(node, at := f"{where}.{name}"), at)
        if row is not None:
            if row.fields["id"] in keys:
                # Two messages share an id: use the node's id too.
                row.fields["id"] = make_uuid(name, SOURCE, row.fields["id"])
            keys.add(row.fields["id"])
    return said


def _find_displayed_end(
    mapping: dict[str, Any], said: dict[str, ParsedMessage | None], current: Any, where: str
) -> str | None:
    """Return the last displayed message: `current_node`, or its nearest ancestor with a message."""
    if (
        current not in mapping
        or (row := said[current] or _find_parent(mapping, said, current, where)) is None
    ):
        return None
    return row.node


def _build_tree(
    mapping: dict[str, Any],
    said: dict[str, ParsedMessage | None],
    where: str,
    begun: datetime | None,
    shown: datetime,
) -> list[ParsedMessage]:
    """Return the root messages with dates, each with its children."""
    roots: list[ParsedMessage] = []
    for name, row in said.items():
        if row is None:
            continue
        above = _find_parent(mapping, said, name, where)
        (roots if above is None else above.children).append(row)
    fill_in_dates(roots, begun, shown)
    # Children in the order of their dates.
    for row in said.values():
        if row is not None:
            row.children.sort(key=lambda child: child.fields["created_at"])
    roots.sort(key=lambda root: root.fields["created_at"])
    return roots


def _find_parent(
    mapping: dict[str, Any], said: dict[str, ParsedMessage | None], name: str, where: str
) -> ParsedMessage | None:
    """Return the nearest ancestor with a message."""
    passed = {name}
    at = mapping[name].get("parent")
    while at is not None:
        if at not in mapping or at in passed:
            raise BadFile("file-parent-unknown", f"{where}.{name}.parent")
        if (found := said[at]) is not None:
            return found
        passed.add(at)
        at = mapping[at].get("parent")
    return None


def _parse_message(name: str, node: dict[str, Any], where: str) -> ParsedMessage | None:
    if node.get("message") is None:
        return None
    where = f"{where}.message"
    message = require_object(node["message"], where)
    metadata = message.get("metadata") or {}
    author = require_object(message.get("author") or {}, f"{where}.author")
    content = require_object(message.get("content") or {}, f"{where}.content")
    if metadata.get("is_visually_hidden_from_conversation") or content.get("content_type") in _HIDDEN:
        return None
    text = join_text([_extract_text(content, f"{where}.content"), *_list_attachments(metadata)])
    # A message without an author is the program's: as a system message it is never extracted.
    role = "system" if author.get("role") is None else _ROLES.get(str(author["role"]))
    if role is None:
        raise BadFile("field-not-a-choice", f"{where}.author.role")
    fields: dict[str, Any] = {
        "id": make_uuid(message.get("id") or name, SOURCE),
        "role": role,
        "content": text,
        "created_at": parse_optional_time(message.get("create_time"), f"{where}.create_time"),
    }
    recipient = str(message.get("recipient") or "all")
    if role == "tool":
        fields |= {"name": str(author.get("name") or "")[:120], "tool_call_id": str(node.get("parent"))[:120]}
    elif role == "assistant" and recipient != "all" and text:
        call = {"name": recipient, "arguments": text}
        fields |= {"content": "", "tool_calls": [{"id": name, "type": "function", "function": call}]}
    elif not text:
        return None
    return ParsedMessage(name, node.get("parent"), fields)


def _extract_text(content: dict[str, Any], where: str) -> str:
    if "parts" in content:
        pieces = _extract_pieces(require_list(content["parts"], f"{where}.parts"))
    else:
        found = [content.get(name) for name in ("title", "text", "result")]
        pieces = [piece for piece in found if isinstance(piece, str)]
    text = join_text(pieces)
    language = content.get("language")
    if content.get("content_type") == "code" and text and language not in (None, "", "unknown", "json"):
        return f"```{language}\n{text}\n```"
    return text


def _extract_pieces(parts: list[Any]) -> list[str]:
    # A transcription and its recording are separate parts with the same words.
    spoken = any(
        isinstance(part, dict) and part.get("content_type") == "audio_transcription" and part.get("text")
        for part in parts
    )
    return [_extract_piece(part) for part in parts if not (spoken and _is_recording(part))]


def _is_recording(piece: Any) -> bool:
    kind = str(piece.get("content_type") or "") if isinstance(piece, dict) else ""
    return kind.endswith("_pointer") and ("audio" in kind or "video" in kind)


def _list_attachments(metadata: dict[str, Any]) -> list[str]:
    """Return a placeholder for each attached file; images are among the parts of the message."""
    found = metadata.get("attachments")
    files = [file for file in found if isinstance(file, dict)] if isinstance(found, list) else []
    kinds = [(file.get("name"), str(file.get("mime_type") or file.get("mimeType") or "")) for file in files]
    return [
        describe_skipped_file(str(name)) for name, kind in kinds if name and not kind.startswith("image/")
    ]


def _extract_piece(piece: Any) -> str:
    if isinstance(piece, str):
        return piece
    if not isinstance(piece, dict):
        return ""
    if isinstance(piece.get("text"), str):
        return str(piece["text"])
    kind = str(piece.get("content_type") or "")
    if "image" in kind:
        return _("[A picture, which was not imported]")
    if "audio" in kind or "video" in kind:
        return _("[A recording, which was not imported]")
    return _("[Something else, which was not imported]")
