"""How topics decay: half-life, priority, and which topics retire.

Pure arithmetic: takes `now`, durations and the rules as arguments. A topic's age counts from its last
activity.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from .rules import DEFAULT_RULES, TopicRules

RETIREMENT_PRIORITY = 0.05

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class TopicActivity(Generic[Key]):
    """The values that decide whether a topic retires; `importance` is 0–1."""

    id: Key
    importance: float
    access_count: int
    last_active_at: datetime


def compute_half_life(access_count: int, rules: TopicRules = DEFAULT_RULES) -> timedelta:
    """Return the half-life of a topic: the base, doubled for every few accesses, at most the maximum.

    With the default rules: one day, doubled for every 5 accesses, at most 30 days.
    """
    # Every base exceeds every maximum after 64 doublings; the limit keeps the power small.
    doublings = min(access_count // rules.access_threshold_for_lt, 64)
    return timedelta(seconds=min(rules.base_half_life_seconds * 2.0**doublings, rules.max_half_life_seconds))


def classify_memory_type(access_count: int, rules: TopicRules = DEFAULT_RULES) -> str:
    """Return "short-term" below 5 accesses, "transitioning" below 10, else "long-term".

    5 is the default of `access_threshold_for_lt`, and 10 twice that.
    """
    if access_count < rules.access_threshold_for_lt:
        return "short-term"
    return "transitioning" if access_count < 2 * rules.access_threshold_for_lt else "long-term"


def compute_priority(
    importance: float, access_count: int, age: timedelta, rules: TopicRules = DEFAULT_RULES
) -> float:
    """Return importance × 0.5^(age / half-life); `age` is the time since the last activity."""
    halves = max(age, timedelta()) / compute_half_life(access_count, rules)
    return float(importance * 0.5**halves)


def choose_retiring_topics(
    topics: Sequence[TopicActivity[Key]],
    active: Key | None,
    now: datetime,
    rules: TopicRules = DEFAULT_RULES,
) -> list[Key]:
    """Return which of a conversation's current topics retire, lowest priority first; never the active one.

    Above `max_topics` topics, those below RETIREMENT_PRIORITY retire. Above `hard_max_topics`, as many of the
    lowest retire as there are too many, whatever their priority.
    """
    if len(topics) <= rules.max_topics:
        return []
    ranked = sorted(
        (
            (
                compute_priority(t.importance, t.access_count, now - t.last_active_at, rules),
                t.last_active_at,
                t.id,
            )
            for t in topics
        ),
        key=lambda ranking: ranking[:2],
    )
    others = [(value, key) for value, _, key in ranked if key != active]
    surplus = len(topics) - rules.hard_max_topics
    return [
        key for place, (value, key) in enumerate(others) if value < RETIREMENT_PRIORITY or place < surplus
    ]
