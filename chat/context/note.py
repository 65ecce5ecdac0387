"""The turn note: what this message needs and the prompt lacks, right before the user's words (design §6)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from chat.memory import rank
from chat.memory.asking import Ask
from chat.memory.lines import one_line
from chat.memory.relevance import calls_for_person

from .budget import NOTE_TOKENS

F = TypeVar("F", bound=rank.Rankable)

# It stands in the user's own turn, so it speaks as the user does. Asked "What do you know about me?" the
# default model answered from this form 4 times of 4; from "[What you know about the user: …]" never.
_OPEN = "(What you remember about me from earlier conversations:"
_CLOSE = ")"


def render(facts: Iterable[rank.Rankable], corrections: Sequence[str] = ()) -> str:
    """Return the note's text, empty when it says nothing; `corrections` are whole lines and stand first."""
    lines = [*corrections, *(f"- {one_line(f.text)}" for f in rank.in_fixed_order(facts))]
    return "\n".join([_OPEN, *lines, _CLOSE]) if lines else ""


def choose(
    facts: Sequence[F],
    ask: Ask,
    relevance: Mapping[UUID, float],
    said: Collection[UUID],
    corrections: Sequence[str],
    budget: int,
    count: Callable[[str], int],
    now: datetime,
) -> list[F]:
    """Return what the note says: everything when users ask about themselves, else what the message touches.

    `said` names the facts that the block, an earlier note or the user's own words in this prompt say already.
    """
    if ask.about_user:
        ranked, tokens = rank.for_account(facts, said, now), budget
    else:
        ranked, tokens = (
            rank.for_note(_wanted(facts, ask, relevance, said), relevance, now),
            min(budget, NOTE_TOKENS),
        )
    return rank.fitting(
        ranked,
        lambda _: tokens,
        lambda fact: count(f"- {one_line(fact.text)}\n"),
        lambda chosen: count(render(chosen, corrections) or f"{_OPEN}\n{_CLOSE}"),
        tokens,
    )


def _wanted(facts: Sequence[F], ask: Ask, relevance: Mapping[UUID, float], said: Collection[UUID]) -> list[F]:
    identity = {f.id: relevance.get(f.id, 0.0) for f in facts if f.category == "identity"}
    person = calls_for_person(ask, identity)
    return [
        f
        for f in facts
        if f.id not in said and (relevance.get(f.id, 0.0) > 0 or (person and f.id in identity))
    ]
