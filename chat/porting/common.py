"""Helpers of the readers of other programs' files: UUIDs, times, texts, and trees of messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from django.utils.translation import gettext as _

from chat.errors import BadFile

from .parts import require_local_time_everywhere
from .shapes import ImportedConversation, ImportedMessage

# Namespace of the UUIDs that are derived from other programs' ids.
_NAMES = UUID("6f1c2f0e-5c5f-5d59-9a0e-0e6f5b6a7c11")
# Characters of one message; a longer one is cut and ends with a note.
_LONGEST = 200_000
_TITLE = 120


def make_uuid(text: Any, *within: Any) -> UUID:
    """Return `text` as a UUID; where it is not one, a UUID derived from `text` and `within` that is the same
    each time.
    """
    try:
        return UUID(str(text))
    except ValueError:
        return uuid5(_NAMES, "/".join(str(part) for part in (*within, text)))


def parse_optional_time(value: Any, where: str) -> datetime | None:
    """Return the time that a value holds, None where it is empty or 0."""
    return None if value in (None, "", 0) else parse_time(value, where)


def parse_time(value: Any, where: str) -> datetime:
    """Return the time that a number (seconds since 1970) or an ISO 8601 text holds, in UTC where no offset is
    given. Raises BadFile.
    """
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            found = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
        else:
            found = datetime.fromtimestamp(float(value), UTC)
        return require_local_time_everywhere(found)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise BadFile("field-not-a-datetime", where) from error


def require_object(value: Any, where: str) -> dict[str, Any]:
    """Return the value; raise BadFile where it is not an object."""
    if not isinstance(value, dict):
        raise BadFile("field-not-an-object", where)
    return value


def require_list(value: Any, where: str) -> list[Any]:
    """Return the value, [] for None; raise BadFile where it is not a list."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadFile("field-not-a-list", where)
    return value


def join_text(pieces: Iterable[str]) -> str:
    """Return the pieces of a message as one text, cut after _LONGEST characters."""
    text = "\n\n".join(piece for piece in pieces if piece.strip())
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}\n\n{_('[The rest of this message was too long to be imported.]')}"
    return text


def describe_skipped_file(name: str) -> str:
    """Return the text that stands in place of an attached file that is not imported."""
    return _("[The file “%s”, which was not imported]") % name


def fence_code(text: str, language: str = "") -> str:
    """Return a text as a Markdown code block whose fence is longer than any fence inside it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


@dataclass(slots=True)
class ParsedMessage:
    """One message of a tree: its id in the file, its parent's id, and its fields for `ImportedMessage`."""

    node: str
    parent: str | None
    fields: dict[str, Any]
    children: list[ParsedMessage] = field(default_factory=list)


def fill_in_dates(roots: Sequence[ParsedMessage], begun: datetime | None, otherwise: datetime) -> None:
    """Give each message without a date the date of the message before it, or `begun` for the first.

    A message is never older than its predecessor, so no deleted fact is matched by mistake. Where no date is
    known, the message is marked as undated and gets the date `otherwise`. All these dates are inferred.
    """
    waiting = [(root, begun) for root in roots]
    while waiting:
        said, above = waiting.pop()
        own = said.fields["created_at"]
        at = own or above
        said.fields |= {
            "created_at": at or otherwise,
            "undated": at is None,
            "date_inferred": None if own else True,
        }
        waiting += [(child, at) for child in said.children]


def flatten_tree(roots: Sequence[ParsedMessage], current: str | None) -> list[ImportedMessage]:
    """Return the messages of a tree in order; branches that were left come before the branch that replaced
    them.

    `current` is the id of a message in the branch that is displayed; where it is None, the newest child of
    each fork is displayed.
    """
    parents = {child.node: said for said in _walk(roots) for child in said.children}
    by_node = {said.node: said for said in _walk(roots)}
    shown: set[str] = set()
    at = by_node.get(current) if current is not None else None
    while at is not None and at.node not in shown:
        shown.add(at.node)
        at = parents.get(at.node)
    rows: list[ImportedMessage] = []
    level = list(roots)
    while level:
        chosen = next((said for said in level if said.node in shown), level[-1])
        for other in level:
            if other is not chosen:
                rows += [
                    _build_message(said, chosen, len(rows) + n) for n, said in enumerate(_walk([other]), 1)
                ]
        rows.append(_build_message(chosen, None, len(rows) + 1))
        level = chosen.children
    return rows


def build_conversation(
    source: str, raw_id: Any, title: Any, messages: list[ImportedMessage], times: tuple[datetime, datetime]
) -> ImportedConversation:
    """Return a conversation of another program.

    It has ended, and memory has not read it. `times` are its creation and its last change.
    """
    begun, changed = times
    return ImportedConversation(
        id=make_uuid(raw_id, source),
        title=" ".join(str(title or "").split())[:_TITLE],
        titled_by="user" if title else "opening",
        metadata={"imported_from": source},
        created_at=begun,
        updated_at=max(changed, begun),
        ended_at=max(changed, begun),
        extracted_through=0,
        app_memory_after=messages[-1].seq if messages else 0,
        messages=messages,
    )


def _build_message(said: ParsedMessage, replaced_by: ParsedMessage | None, seq: int) -> ImportedMessage:
    by = replaced_by.fields["id"] if replaced_by else None
    return ImportedMessage(seq=seq, replaced_by=by, **said.fields)


def _walk(roots: Sequence[ParsedMessage]) -> list[ParsedMessage]:
    """Return messages and all their descendants, each before its children.

    It is not recursive, since trees can be deep.
    """
    found: list[ParsedMessage] = []
    waiting = list(reversed(roots))
    while waiting:
        said = waiting.pop()
        found.append(said)
        waiting.extend(reversed(said.children))
    return found
