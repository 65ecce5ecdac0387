"""How long a topic is kept in mind: half-life, priority, who retires (seed 002, "Topic Decay").

Pure arithmetic: takes `now` and durations as arguments. Ages count from the last activity.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

# Seed 002, "Configuration".
MAX_TOPICS = 20
HALF_LIFE = timedelta(days=1)
MAX_HALF_LIFE = timedelta(days=30)
ACCESSES_A_STEP = 5
FLOOR = 0.05
# Design §7: the seed lets any number of lively topics live; a list that long helps nobody.
MOST_TOPICS = 40

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Standing(Generic[Key]):
    """What decides about one topic; `importance` is 0–1."""

    id: Key
    importance: float
    access_count: int
    last_active_at: datetime


def half_life(access_count: int) -> timedelta:
    """Return after how long a topic counts half: a day, doubling every 5 accesses from 5 on, at most 30."""
    steps = min(access_count // ACCESSES_A_STEP, 10)  # beyond, only a long number on its way to the limit
    return min(HALF_LIFE * (1 << steps), MAX_HALF_LIFE)


def memory_type(access_count: int) -> str:
    """Return the seed's name for how well a topic has settled."""
    if access_count < ACCESSES_A_STEP:
        return "short-term"
    return "transitioning" if access_count < 2 * ACCESSES_A_STEP else "long-term"


def priority(importance: float, access_count: int, age: timedelta) -> float:
    """Return importance × 0.5^(age / half-life); `age` is the time since the last activity."""
    halves = max(age, timedelta()) / half_life(access_count)
    return float(importance * 0.5**halves)


def retiring(topics: Sequence[Standing[Key]], active: Key | None, now: datetime) -> list[Key]:
    """Return which of a conversation's current topics retire, the least first; never the active one.

    Only above `MAX_TOPICS`, and then those below `FLOOR`; above `MOST_TOPICS` the lowest, whatever they are.
    """
    if len(topics) <= MAX_TOPICS:
        return []
    ranked = sorted(
        (
            (priority(t.importance, t.access_count, now - t.last_active_at), t.last_active_at, t.id)
            for t in topics
        ),
        key=lambda ranking: ranking[:2],
    )
    others = [(value, key) for value, _, key in ranked if key != active]
    surplus = len(topics) - MOST_TOPICS
    return [key for place, (value, key) in enumerate(others) if value < FLOOR or place < surplus]
