"""Ranks facts for the prompt and selects those that fit into the token budget. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar
from uuid import UUID

from .formatting import to_one_line

CATEGORY_ORDER = {"project": 0, "preference": 1, "identity": 2}
# Facts about how to answer; they are needed in every turn.
ANSWER_KINDS = frozenset({"reply_language", "reply_style", "units"})
PENALTY_PER_UNUSED_DAY = 0.01
_DAY_SECONDS = 86_400
# `select_fitting` stops after 4 consecutive facts that do not fit, if fewer than 32 tokens are left: counting
# the tokens of more facts takes longer than filling the rest of the budget is worth.
_MAX_MISSES, _MIN_TOKENS_LEFT = 4, 32


class Rankable(Protocol):
    """The attributes of a fact that ranking needs."""

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


def compute_worth(fact: Rankable, now: datetime) -> float:
    """Return the confidence minus PENALTY_PER_UNUSED_DAY for each whole day since the fact was last used."""
    days = max(0, int((now - fact.last_used).total_seconds() // _DAY_SECONDS))
    return fact.confidence - PENALTY_PER_UNUSED_DAY * days


def is_always_included(fact: Rankable) -> bool:
    """Return whether a fact belongs into every prompt: pinned, about a project, or about how to answer."""
    return fact.pinned or fact.category == "project" or fact.kind in ANSWER_KINDS


def rank_for_block(facts: Iterable[F], relevance: Mapping[UUID, float], now: datetime) -> list[F]:
    """Return the facts that belong into every prompt, in the order in which they fill the memory block.

    Pinned facts come first, then ANSWER_KINDS: the language of the answer matters more than one more project.
    """
    return sorted(
        (f for f in facts if is_always_included(f)),
        key=lambda f: (
            not f.pinned,
            f.kind not in ANSWER_KINDS,
            CATEGORY_ORDER[f.category],
            *_make_sort_key(f, relevance, now),
        ),
    )


def rank_for_note(facts: Iterable[F], relevance: Mapping[UUID, float], now: datetime) -> list[F]:
    """Return the facts in the order in which they fill the note of a message about something.

    Pinned ones first, then the most relevant to the message. The category does not count here, because a
    note has room for about four facts. Measured once with the recall cases in tests/memory/data, each with
    the facts of 20 other cases added: this order found 332 of 512 wanted facts, the category first 308.
    """
    return sorted(facts, key=lambda f: (not f.pinned, *_make_sort_key(f, relevance, now)))


def sort_for_note(facts: Iterable[F], relevance: Mapping[UUID, float]) -> list[F]:
    """Return the facts in the order in which a turn note lists them, and in which they fill an overview.

    By category, then pinned facts first, then the most relevant to the message, then the last mentioned.
    """
    return sorted(
        facts,
        key=lambda f: (
            CATEGORY_ORDER[f.category],
            not f.pinned,
            -_round_relevance(f, relevance),
            -f.last_seen.timestamp(),
            f.id,
        ),
    )


def drop_repeated_texts(facts: Iterable[F]) -> list[F]:
    """Return the facts in their order, without those that would be the same line of a prompt as another."""
    by_line: dict[str, F] = {}
    for fact in facts:
        by_line.setdefault(to_one_line(fact.text), fact)
    return list(by_line.values())


def drop_unpinned_identity(facts: Iterable[F]) -> list[F]:
    """Return the facts without unpinned identity facts."""
    return [f for f in facts if f.pinned or f.category != "identity"]


def select_essential(facts: Iterable[F]) -> list[F]:
    """Return the facts that stay in the memory block when the prompt is compacted.

    These are the pinned facts, the project facts, and the half of the preferences with the highest
    confidence.
    """
    chosen = list(facts)
    preferences = [f for f in chosen if f.category == "preference" and not f.pinned]
    by_confidence = sorted(preferences, key=lambda f: (f.kind not in ANSWER_KINDS, -f.confidence, f.id))
    kept = {f.id for f in by_confidence[: (len(by_confidence) + 1) // 2]}
    return [f for f in chosen if f.pinned or f.category == "project" or f.id in kept]


def sort_for_rendering(facts: Iterable[F]) -> list[F]:
    """Return facts in the order in which the memory block lists them: category, pinned first, id."""
    return sorted(facts, key=lambda f: (CATEGORY_ORDER[f.category], not f.pinned, f.id))


def select_fitting(
    ranked: Sequence[F],
    room: Callable[[F], int],
    price: Callable[[F], int],
    whole: Callable[[Sequence[F]], int],
    budget: int,
) -> list[F]:
    """Return as many of the ranked facts as fit; all sizes are in tokens.

    `room` gives the total size up to which a fact may be added, `price` the size that it adds, `whole` the
    exact size of a selection as rendered. The sizes of parts do not add up exactly, so the last facts are
    removed again while the exact size exceeds `budget`.
    """
    chosen: list[F] = []
    used, misses = whole([]), 0
    for fact in ranked:
        size = price(fact)
        if used + size <= room(fact):
            chosen.append(fact)
            used, misses = used + size, 0
        elif (misses := misses + 1) >= _MAX_MISSES and room(fact) - used < _MIN_TOKENS_LEFT:
            break
    while chosen and whole(chosen) > budget:
        chosen.pop()
    return chosen


def _make_sort_key(
    fact: Rankable, relevance: Mapping[UUID, float], now: datetime
) -> tuple[float, float, float, UUID]:
    return (
        -_round_relevance(fact, relevance),
        -compute_worth(fact, now),
        -fact.last_seen.timestamp(),
        fact.id,
    )


def _round_relevance(fact: Rankable, relevance: Mapping[UUID, float]) -> float:
    return round(relevance.get(fact.id, 0.0), 3)
