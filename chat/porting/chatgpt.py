"""Reads `conversations.json` of ChatGPT: a tree of messages a conversation, of which one branch is shown.

A node has `message` (or none), `parent` and `children`; `current_node` is the end of what is shown, and may
itself be hidden. Pictures, sounds and files are named, not taken; what the program hides from its own page is
left out. A chat may be an empty shell without a `mapping`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from .parts import Part
from .problems import BadFile
from .said import Said, as_list, as_object, conversation, date, in_line, key, known, not_taken, text_of

SOURCE, MARKS = "chatgpt", ("mapping", "conversation_id")
_ROLES = {"user": "user", "assistant": "assistant", "tool": "tool", "system": "system"}
# What the model thinks before it answers, and what the program tells it about the user.
_HIDDEN = {"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context", "system_error"}


def part(value: Any, where: str) -> Part:
    """Return one conversation."""
    chat = as_object(value, where)
    mapping = as_object(chat.get("mapping") or {}, f"{where}.mapping")
    begun = known(chat.get("create_time"), f"{where}.create_time")
    changed = known(chat.get("update_time"), f"{where}.update_time")
    said = _said_in(mapping, f"{where}.mapping")
    dates = [at for row in said.values() if row is not None and (at := row.fields["created_at"])]
    shown = begun or min(dates, default=changed or datetime.now(UTC).replace(microsecond=0))
    roots = _tree(mapping, said, f"{where}.mapping", begun, shown)
    messages = in_line(roots, _end_of_shown(mapping, said, chat.get("current_node"), f"{where}.mapping"))
    raw = chat.get("conversation_id") or chat.get("id")
    if not raw:
        raise BadFile(_("is missing"), f"{where}.id")
    times = (shown, changed or max((m.created_at for m in messages), default=shown))
    return Part("conversation", conversation(SOURCE, raw, chat.get("title"), messages, times), where)


def _said_in(mapping: dict[str, Any], where: str) -> dict[str, Said | None]:
    """Return by its node what each says; None where that is nothing."""
    said: dict[str, Said | None] = {}
    keys: set[Any] = set()
    for name, node in mapping.items():
        row = said[name] = _said(name, as_object(node, at := f"{where}.{name}"), at)
        if row is not None:
            if row.fields["id"] in keys:
                # Nodes have names of their own.
                row.fields["id"] = key(name, SOURCE, row.fields["id"])
            keys.add(row.fields["id"])
    return said


def _end_of_shown(
    mapping: dict[str, Any], said: dict[str, Said | None], current: Any, where: str
) -> str | None:
    """Return the last message of the branch that is shown: `current_node`, or the nearest above it."""
    if current not in mapping or (row := said[current] or _above(mapping, said, current, where)) is None:
        return None
    return row.node


def _tree(
    mapping: dict[str, Any], said: dict[str, Said | None], where: str, begun: datetime | None, shown: datetime
) -> list[Said]:
    """Return the first messages, dated, each with those that follow it."""
    roots: list[Said] = []
    for name, row in said.items():
        if row is None:
            continue
        above = _above(mapping, said, name, where)
        (roots if above is None else above.children).append(row)
    date(roots, begun, shown)
    # Answers in the order of their parent's list.
    for row in said.values():
        if row is not None:
            row.children.sort(key=lambda child: child.fields["created_at"])
    roots.sort(key=lambda root: root.fields["created_at"])
    return roots


def _above(mapping: dict[str, Any], said: dict[str, Said | None], name: str, where: str) -> Said | None:
    """Return the nearest message above a node."""
    passed = {name}
    at = mapping[name].get("parent")
    while at is not None:
        if at not in mapping or at in passed:
            raise BadFile(_("its parent is not there, or is among its own answers"), f"{where}.{name}.parent")
        if (found := said[at]) is not None:
            return found
        passed.add(at)
        at = mapping[at].get("parent")
    return None


def _said(name: str, node: dict[str, Any], where: str) -> Said | None:
    if node.get("message") is None:
        return None
    where = f"{where}.message"
    message = as_object(node["message"], where)
    metadata = message.get("metadata") or {}
    author = as_object(message.get("author") or {}, f"{where}.author")
    content = as_object(message.get("content") or {}, f"{where}.content")
    if metadata.get("is_visually_hidden_from_conversation") or content.get("content_type") in _HIDDEN:
        return None
    text = text_of([_text(content, f"{where}.content"), *_attached(metadata)])
    # What nobody said is the program's, and nothing that memory could learn from.
    role = "system" if author.get("role") is None else _ROLES.get(str(author["role"]))
    if role is None:
        raise BadFile(_("is none of the words that may stand here"), f"{where}.author.role")
    fields: dict[str, Any] = {
        "id": key(message.get("id") or name, SOURCE),
        "role": role,
        "content": text,
        "created_at": known(message.get("create_time"), f"{where}.create_time"),
    }
    recipient = str(message.get("recipient") or "all")
    if role == "tool":
        fields |= {"name": str(author.get("name") or "")[:120], "tool_call_id": str(node.get("parent"))[:120]}
    elif role == "assistant" and recipient != "all" and text:
        call = {"name": recipient, "arguments": text}
        fields |= {"content": "", "tool_calls": [{"id": name, "type": "function", "function": call}]}
    elif not text:
        return None
    return Said(name, node.get("parent"), fields)


def _text(content: dict[str, Any], where: str) -> str:
    if "parts" in content:
        pieces = _pieces(as_list(content["parts"], f"{where}.parts"))
    else:
        found = [content.get(name) for name in ("title", "text", "result")]
        pieces = [piece for piece in found if isinstance(piece, str)]
    text = text_of(pieces)
    language = content.get("language")
    if content.get("content_type") == "code" and text and language not in (None, "", "unknown", "json"):
        return f"```{language}\n{text}\n```"
    return text


def _pieces(parts: list[Any]) -> list[str]:
    # What was spoken stands beside its recording, word for word.
    spoken = any(
        isinstance(part, dict) and part.get("content_type") == "audio_transcription" and part.get("text")
        for part in parts
    )
    return [_piece(part) for part in parts if not (spoken and _is_recording(part))]


def _is_recording(piece: Any) -> bool:
    kind = str(piece.get("content_type") or "") if isinstance(piece, dict) else ""
    return kind.endswith("_pointer") and ("audio" in kind or "video" in kind)


def _attached(metadata: dict[str, Any]) -> list[str]:
    """Return the names of files that came with a message; pictures stand among its parts."""
    found = metadata.get("attachments")
    files = [file for file in found if isinstance(file, dict)] if isinstance(found, list) else []
    kinds = [(file.get("name"), str(file.get("mime_type") or file.get("mimeType") or "")) for file in files]
    return [not_taken(str(name)) for name, kind in kinds if name and not kind.startswith("image/")]


def _piece(piece: Any) -> str:
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
