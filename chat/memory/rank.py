"""Which facts come first and how many fit: pure decisions (design §6, "Choice under the budget")."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar
from uuid import UUID

SHELVES = {"project": 0, "preference": 1, "identity": 2}  # seed 004, "Priority Order"
# How the user wants to be answered holds for every turn.
ANSWER_KINDS = frozenset({"reply_language", "reply_style", "units"})
UNUSED_DAY = 0.01  # design §6
_DAY_SECONDS = 86_400
_MISFITS = 5
# After so many facts that do not fit, what comes would only fill a scrap of room, and pricing takes time.
_MISSES, _SCRAP = 4, 32


class Rankable(Protocol):
    """What ranking needs to know of a fact."""

    @property
    def id(self) -> UUID: ...
    @property
    def text(self) -> str: ...
    @property
    def category(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def pinned(self) -> bool: ...
    @property
    def confidence(self) -> float: ...
    @property
    def last_used(self) -> datetime: ...
    @property
    def last_seen(self) -> datetime: ...


F = TypeVar("F", bound=Rankable)


def worth(fact: Rankable, now: datetime) -> float:
    """Return the confidence less a hundredth for each whole day since the fact was last used."""
    days = max(0, int((now - fact.last_used).total_seconds() // _DAY_SECONDS))
    return fact.confidence - UNUSED_DAY * days


def holds_always(fact: Rankable) -> bool:
    """Return whether a fact is for every turn: pinned, project work, or how to answer."""
    return fact.pinned or fact.category == "project" or fact.kind in ANSWER_KINDS


def for_block(facts: Iterable[F], relevance: Mapping[UUID, float], now: datetime) -> list[F]:
    """Return the facts that hold for every turn, the first to keep first.

    Pinned ones lead, then how to answer: a project too many is missed less than the language of the answer.
    """
    return sorted(
        (f for f in facts if holds_always(f)),
        key=lambda f: (
            not f.pinned,
            f.kind not in ANSWER_KINDS,
            SHELVES[f.category],
            *_rest(f, relevance, now),
        ),
    )


def for_note(facts: Iterable[F], relevance: Mapping[UUID, float], now: datetime) -> list[F]:
    """Return facts that a message may need, the most relevant first."""
    return sorted(facts, key=lambda f: (not f.pinned, *_rest(f, relevance, now)))


def for_account(facts: Iterable[F], said: Iterable[UUID], now: datetime) -> list[F]:
    """Return all facts for an account of what is known: those that the prompt does not say yet lead."""
    known = frozenset(said)
    return sorted(facts, key=lambda f: (f.id in known, not f.pinned, SHELVES[f.category], *_rest(f, {}, now)))


def dearest(facts: Iterable[F]) -> list[F]:
    """Return what stays of a block in a crowded prompt (seed 004, "Stage 2").

    That is what is pinned, the project facts, and the surer half of the preferences.
    """
    chosen = list(facts)
    preferences = [f for f in chosen if f.category == "preference" and not f.pinned]
    surest = sorted(preferences, key=lambda f: (f.kind not in ANSWER_KINDS, -f.confidence, f.id))
    kept = {f.id for f in surest[: (len(surest) + 1) // 2]}
    return [f for f in chosen if f.pinned or f.category == "project" or f.id in kept]


def in_fixed_order(facts: Iterable[F]) -> list[F]:
    """Return facts in the order in which they are rendered: category, pinned, id."""
    return sorted(facts, key=lambda f: (SHELVES[f.category], not f.pinned, f.id))


def fitting(
    ranked: Sequence[F],
    room: Callable[[F], int],
    price: Callable[[F], int],
    whole: Callable[[Sequence[F]], int],
    budget: int,
) -> list[F]:
    """Return those of the ranked facts that fit together.

    `room` is how far a fact may fill, `price` what it adds, `whole` the exact size of a choice as rendered:
    tokens do not add up over pieces, so what is too much after all goes from the end.
    """
    chosen: list[F] = []
    spent, missed = whole([]), 0
    for fact in ranked:
        cost = price(fact)
        if spent + cost <= room(fact):
            chosen.append(fact)
            spent, missed = spent + cost, 0
        elif (missed := missed + 1) >= _MISSES and room(fact) - spent < _SCRAP:
            break
    while chosen and whole(chosen) > budget:
        chosen.pop()
    return chosen


def _rest(fact: Rankable, relevance: Mapping[UUID, float], now: datetime) -> tuple[float, float, float, UUID]:
    return (
        -round(relevance.get(fact.id, 0.0), 3),
        -worth(fact, now),
        -fact.last_seen.timestamp(),
        fact.id,
    )
