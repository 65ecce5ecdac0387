"""What there is to say about one topic (seed 002, "Memory Statistics")."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypedDict

from .decay import half_life, memory_type

_DAY = timedelta(days=1)


class TopicStats(TypedDict):
    """The seed's names; ages in seconds, the half-life in days."""

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


def stats(
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
) -> TopicStats:
    """Return the seed's figures for a topic with so many live and packed messages."""
    return TopicStats(
        topic_id=topic_id,
        topic_title=title,
        active_messages=live,
        compressed_messages=packed,
        total_messages=live + packed,
        has_summary=bool(summary),
        importance_score=importance,
        access_count=access_count,
        memory_type=memory_type(access_count),
        half_life_days=half_life(access_count) / _DAY,
        age_seconds=(now - created_at).total_seconds(),
        inactive_seconds=(now - last_active_at).total_seconds(),
    )
