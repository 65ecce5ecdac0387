"""What the readers of other programs' chats share: keys, times, texts, and branches in a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from django.utils.translation import gettext as _

from .problems import BadFile
from .shapes import ConversationIn, MessageIn
from .storable import in_every_zone

# Names keys that another program did not make as UUIDs.
_NAMES = UUID("6f1c2f0e-5c5f-5d59-9a0e-0e6f5b6a7c11")
# Characters of one message; what is longer ends with a sentence that says so.
_LONGEST = 200_000
_TITLE = 120


def key(text: Any, *within: Any) -> UUID:
    """Return a key as it is where it is a UUID, else the same UUID for the same text each time."""
    try:
        return UUID(str(text))
    except ValueError:
        return uuid5(_NAMES, "/".join(str(part) for part in (*within, text)))


def known(value: Any, where: str) -> datetime | None:
    """Return the moment that a value names, None where it names none."""
    return None if value in (None, "", 0) else moment(value, where)


def moment(value: Any, where: str) -> datetime:
    """Return the moment that seconds since 1970 or an ISO text name."""
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            found = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
        else:
            found = datetime.fromtimestamp(float(value), UTC)
        return in_every_zone(found)
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise BadFile(_("must be a date with a time"), where) from error


def as_object(value: Any, where: str) -> dict[str, Any]:
    """Return an object, or raise BadFile."""
    if not isinstance(value, dict):
        raise BadFile(_("must be an object"), where)
    return value


def as_list(value: Any, where: str) -> list[Any]:
    """Return a list, or raise BadFile; nothing is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadFile(_("must be a list"), where)
    return value


def text_of(pieces: Iterable[str]) -> str:
    """Return the pieces of a message as one text of bearable length."""
    text = "\n\n".join(piece for piece in pieces if piece.strip())
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}\n\n{_('[The rest of this message was too long to be imported.]')}"
    return text


def not_taken(name: str) -> str:
    """Return what stands in the place of a file of which there is nothing but its name."""
    return _("[The file “%s”, which was not imported]") % name


def fenced(text: str, language: str = "") -> str:
    """Return a text as a block of code, behind a fence that is longer than any in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


@dataclass(slots=True)
class Said:
    """One message of a tree: its fields in our words, and the node that it stands in."""

    node: str
    parent: str | None
    fields: dict[str, Any]
    children: list[Said] = field(default_factory=list)


def date(roots: Sequence[Said], begun: datetime | None, otherwise: datetime) -> None:
    """Give messages without a date that of what they answer, or of the beginning of their chat.

    They were said after it, so nothing that was forgotten before is taken for forgotten. Where there is none
    either, nobody knows when it was said: it is marked as undated, and shown as of `otherwise`.
    """
    waiting = [(root, begun) for root in roots]
    while waiting:
        said, above = waiting.pop()
        at = said.fields["created_at"] or above
        said.fields |= {"created_at": at or otherwise, "undated": at is None}
        waiting += [(child, at) for child in said.children]


def in_line(roots: Sequence[Said], current: str | None) -> list[MessageIn]:
    """Return a tree's messages in places; branches that were left stand before what replaced them.

    `current` is a node of the branch that is shown; without one it is the newest of each fork.
    """
    parents = {child.node: said for said in _all(roots) for child in said.children}
    by_node = {said.node: said for said in _all(roots)}
    shown: set[str] = set()
    at = by_node.get(current) if current is not None else None
    while at is not None and at.node not in shown:
        shown.add(at.node)
        at = parents.get(at.node)
    rows: list[MessageIn] = []
    level = list(roots)
    while level:
        chosen = next((said for said in level if said.node in shown), level[-1])
        for other in level:
            if other is not chosen:
                rows += [_row(said, chosen, len(rows) + n) for n, said in enumerate(_all([other]), 1)]
        rows.append(_row(chosen, None, len(rows) + 1))
        level = chosen.children
    return rows


def conversation(
    source: str, raw_id: Any, title: Any, messages: list[MessageIn], times: tuple[datetime, datetime]
) -> ConversationIn:
    """Return a chat of another program as one of ours: it has ended, and memory has not read it."""
    begun, changed = times
    return ConversationIn(
        id=key(raw_id, source),
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


def _row(said: Said, replaced_by: Said | None, seq: int) -> MessageIn:
    by = replaced_by.fields["id"] if replaced_by else None
    return MessageIn(seq=seq, replaced_by=by, **said.fields)


def _all(roots: Sequence[Said]) -> list[Said]:
    """Return messages and all that follows them, each before its answers, without recursion."""
    found: list[Said] = []
    waiting = list(reversed(roots))
    while waiting:
        said = waiting.pop()
        found.append(said)
        waiting.extend(reversed(said.children))
    return found
