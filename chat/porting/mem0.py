"""Reads a list of mem0 memories: objects with `id`, `memory`, `user_id`, `created_at` and `updated_at`.

Each becomes a fact with the origin "manual" whose kind is guessed from its text. Memories of an agent
(`agent_id` without `user_id`) are about the assistant and are refused. So are those with the role
"assistant", which mem0 stores when it keeps messages unchanged.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from chat.errors import BadFile
from chat.memory import confidence
from chat.memory.kind_rules import guess_kind
from chat.memory.kinds import KINDS
from chat.memory.subjects import extract_subject

from .common import make_uuid, parse_optional_time, require_object
from .parts import FilePart, RefusedItem
from .shapes import ImportedFact, ImportedFactEvent

SOURCE, MARKS = "mem0", ("memory",)
_LONGEST = 300
_SHOWN = 80


def read_item(value: Any, where: str) -> FilePart:
    """Return one fact, or a refused item with the reason. Raises BadFile."""
    memory = require_object(value, where)
    if not isinstance(memory.get("memory"), str):
        raise BadFile("field-not-text", f"{where}.memory")
    text = " ".join(memory["memory"].split())
    if memory.get("id") in (None, ""):
        raise BadFile("field-missing", f"{where}.id")
    of_agent = memory.get("agent_id") and not memory.get("user_id")
    if of_agent or memory.get("role") == "assistant":
        return FilePart(
            "refused", RefusedItem(text[:_SHOWN], _("It tells of an assistant, not of you.")), where
        )
    if sum(letter.isalpha() for letter in text) < 2:
        return FilePart("refused", RefusedItem(text[:_SHOWN], _("There is no word in it.")), where)
    if len(text) > _LONGEST:
        why = _("A memory has at most %d characters.") % _LONGEST
        return FilePart("refused", RefusedItem(f"{text[:_SHOWN]}…", why), where)
    return FilePart("fact", _build_fact(memory, text, where), where, get_user_id(memory))


def get_user_id(memory: dict[str, Any]) -> str:
    """Return the user that a memory belongs to, as the file names them."""
    return str(memory.get("user_id") or "")


def _build_fact(memory: dict[str, Any], text: str, where: str) -> ImportedFact:
    created = parse_optional_time(memory.get("created_at"), f"{where}.created_at")
    changed = parse_optional_time(memory.get("updated_at"), f"{where}.updated_at")
    first = created or changed or datetime.now(UTC)
    last = max(first, changed or first)
    fact_id = make_uuid(memory["id"], SOURCE, get_user_id(memory))
    kind = guess_kind(text)
    fact = ImportedFact(
        id=fact_id,
        text=text,
        category=KINDS[kind].category,
        kind=kind,
        subject=extract_subject(kind, text),
        confidence=confidence.get_initial_confidence("manual"),
        first_seen=first,
        last_seen=last,
        last_used=last,
        undated=created is None and changed is None,
    )
    names = ("text", "category", "kind", "subject", "confidence", "mention_count", "pinned")
    after = {name: getattr(fact, name) for name in names}
    fact.history.append(
        ImportedFactEvent(
            id=make_uuid("add", SOURCE, fact_id),
            kind="add",
            after=after,
            actor="user",
            reason="imported from mem0",
            created_at=first,
        )
    )
    return fact
