"""Reads a list of memories of mem0: objects with `id`, `memory`, `user_id`, `created_at` and `updated_at`.

Each becomes a fact that was added by hand, of the kind that its words suggest. Memories of agents (without a
`user_id`, but with an `agent_id`) tell of the assistant and are refused, and so are an assistant's own words,
which are kept with `role` where mem0 was told to keep messages as they are.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from chat.memory import confidence
from chat.memory.kind_rules import guess_kind
from chat.memory.kinds import KINDS
from chat.memory.subjects import subject_of

from .parts import Part, Refusal
from .problems import BadFile
from .said import as_object, key, known
from .shapes import EventIn, FactIn

SOURCE, MARKS = "mem0", ("memory",)
_LONGEST = 300
_SHOWN = 80


def part(value: Any, where: str) -> Part:
    """Return one fact, or why it is none."""
    memory = as_object(value, where)
    if not isinstance(memory.get("memory"), str):
        raise BadFile(_("must be text"), f"{where}.memory")
    text = " ".join(memory["memory"].split())
    if memory.get("id") in (None, ""):
        raise BadFile(_("is missing"), f"{where}.id")
    of_agent = memory.get("agent_id") and not memory.get("user_id")
    if of_agent or memory.get("role") == "assistant":
        return Part("refused", Refusal(text[:_SHOWN], _("It tells of an assistant, not of you.")), where)
    if sum(letter.isalpha() for letter in text) < 2:
        return Part("refused", Refusal(text[:_SHOWN], _("There is no word in it.")), where)
    if len(text) > _LONGEST:
        why = _("A memory has at most %d characters.") % _LONGEST
        return Part("refused", Refusal(f"{text[:_SHOWN]}…", why), where)
    return Part("fact", _fact(memory, text, where), where, user_of(memory))


def user_of(memory: dict[str, Any]) -> str:
    """Return of whom a memory tells, as the file names them."""
    return str(memory.get("user_id") or "")


def _fact(memory: dict[str, Any], text: str, where: str) -> FactIn:
    created = known(memory.get("created_at"), f"{where}.created_at")
    changed = known(memory.get("updated_at"), f"{where}.updated_at")
    first = created or changed or datetime.now(UTC)
    last = max(first, changed or first)
    fact_id = key(memory["id"], SOURCE, user_of(memory))
    kind = guess_kind(text)
    fact = FactIn(
        id=fact_id,
        text=text,
        category=KINDS[kind].category,
        kind=kind,
        subject=subject_of(kind, text),
        confidence=confidence.baseline("manual"),
        first_seen=first,
        last_seen=last,
        last_used=last,
        undated=created is None and changed is None,
    )
    names = ("text", "category", "kind", "subject", "confidence", "mention_count", "pinned")
    after = {name: getattr(fact, name) for name in names}
    fact.history.append(
        EventIn(
            id=key("add", SOURCE, fact_id),
            kind="add",
            after=after,
            actor="user",
            reason="imported from mem0",
            created_at=first,
        )
    )
    return fact
