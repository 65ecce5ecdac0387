"""How topics decay: half-life, priority, which topics retire, and the statistics that show it.

Pure arithmetic: takes `now`, durations and the rules as arguments. A topic's age counts from its last
activity. The statistics have the field names of the REST and Python interfaces.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypedDict, TypeVar

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


_DAY = timedelta(days=1)


class TopicStats(TypedDict):
    """Statistics of one topic; ages in seconds, the half-life in days, the importance 0–1."""

    topic_id: str
    topic_title: str
    active_messages: int
    compressed_messages: int
    total_messages: int
    has_summary: bool
    importance_score: float
    access_count: int
    memory_type: str
    half_life_days: float
    age_seconds: float
    inactive_seconds: float


def compute_topic_stats(
    *,
    topic_id: str,
    title: str,
    summary: str,
    importance: float,
    access_count: int,
    live: int,
    packed: int,
    created_at: datetime,
    last_active_at: datetime,
    now: datetime,
    rules: TopicRules = DEFAULT_RULES,
) -> TopicStats:
    """Return the statistics of a topic with `live` unpacked and `packed` archived messages at time `now`."""
    return TopicStats(
        topic_id=topic_id,
        topic_title=title,
        active_messages=live,
        compressed_messages=packed,
        total_messages=live + packed,
        has_summary=bool(summary),
        importance_score=importance,
        access_count=access_count,
        memory_type=classify_memory_type(access_count, rules),
        half_life_days=compute_half_life(access_count, rules) / _DAY,
        age_seconds=(now - created_at).total_seconds(),
        inactive_seconds=(now - last_active_at).total_seconds(),
    )
