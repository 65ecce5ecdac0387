"""The turn note: what this message needs and the prompt lacks, right before the user's words (design §6)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

from chat.memory import rank
from chat.memory.lines import one_line
from chat.memory.relevance import calls_for_person

from .budget import NOTE_TOKENS
from .known import Known, Relevant

# It stands in the user's own turn, so it speaks as the user does. Asked "What do you know about me?" the
# default model answered from this form 4 times of 4; from "[What you know about the user: …]" never.
_OPEN = "(What you remember about me from earlier conversations:"
_CLOSE = ")"
_FRAME = f"{_OPEN}\n{_CLOSE}"


def render(facts: Iterable[rank.Rankable], corrections: Sequence[str] = ()) -> str:
    """Return the note's text, empty when it says nothing; `corrections` are whole lines and stand first."""
    lines = [*corrections, *(f"- {one_line(f.text)}" for f in rank.in_fixed_order(facts))]
    return "\n".join([_OPEN, *lines, _CLOSE]) if lines else ""


def choose(
    known: Relevant,
    said: Collection[UUID],
    corrections: Sequence[str],
    budget: int,
    count: Callable[[str], int],
    price: Callable[[str], int],
    now: datetime,
) -> list[Known]:
    """Return what the note says: everything when users ask about themselves, else what the message touches.

    `said` names the facts that the block, an earlier note or the user's own words in this prompt say already.
    """
    if known.ask.about_user:
        ranked, tokens = rank.for_account(known.facts, said, now), budget
    else:
        wanted = _wanted(known, said)
        ranked, tokens = rank.for_note(wanted, known.relevance, now), min(budget, NOTE_TOKENS)
    return rank.fitting(
        ranked,
        lambda _: tokens,
        lambda fact: price(f"- {one_line(fact.text)}\n"),
        lambda chosen: count(render(chosen, corrections)) if chosen or corrections else price(_FRAME),
        tokens,
    )


def _wanted(known: Relevant, said: Collection[UUID]) -> list[Known]:
    relevance = known.relevance
    identity = {f.id: relevance.get(f.id, 0.0) for f in known.facts if f.category == "identity"}
    person = calls_for_person(known.ask, identity)
    return [
        f
        for f in known.facts
        if f.id not in said and (relevance.get(f.id, 0.0) > 0 or (person and f.id in identity))
    ]
