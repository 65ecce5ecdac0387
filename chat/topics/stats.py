"""The statistics of one topic, with the field names of the REST and Python interfaces."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypedDict

from .decay import classify_memory_type, compute_half_life
from .rules import DEFAULT_RULES, TopicRules

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
