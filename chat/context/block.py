"""The memory block at the head of a prompt: chosen under a budget, rendered in a fixed order (design §6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from chat.memory import rank
from chat.memory.lines import one_line

from .budget import MEMORY_IDEAL, NOTE_TOKENS

F = TypeVar("F", bound=rank.Rankable)

HEADER = "## What you know about this user"
SECTIONS = {"project": "Current work:", "preference": "Preferences:", "identity": "About user:"}


def render(facts: Iterable[rank.Rankable]) -> str:
    """Return the block's text, empty when there is nothing to say; the same facts give the same bytes."""
    ordered = rank.in_fixed_order(facts)
    if not ordered:
        return ""
    parts = [HEADER]
    for category, title in SECTIONS.items():
        if lines := [f"- {one_line(f.text)}" for f in ordered if f.category == category]:
            parts.append("\n".join([title, *lines]))
    return "\n\n".join(parts)


def choose(
    facts: Sequence[F],
    relevance: Mapping[UUID, float],
    budget: int,
    count: Callable[[str], int],
    price: Callable[[str], int],
    now: datetime,
) -> list[F]:
    """Return the facts for every turn that fit `budget` tokens together with this turn's note.

    `count` is the tokenizer's, `price` may remember what a line costs. Beyond the ideal only what is pinned,
    says how to answer, or has to do with the message.
    """
    budget -= NOTE_TOKENS
    ideal = min(MEMORY_IDEAL, budget)

    def room(fact: F) -> int:
        needed = fact.pinned or fact.kind in rank.ANSWER_KINDS or relevance.get(fact.id, 0.0) > 0
        return budget if needed else ideal

    # The header and section titles are part of the price.
    frame = price("\n\n".join([HEADER, *SECTIONS.values()]))
    return rank.fitting(
        rank.for_block(facts, relevance, now),
        room,
        lambda fact: price(f"- {one_line(fact.text)}\n"),
        lambda chosen: count(render(chosen)) if chosen else frame,
        budget,
    )
