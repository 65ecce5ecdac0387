"""The statistics of a topic have their names and units."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from chat.topics.decay import compute_topic_stats


def test_the_statistics_have_their_names_and_units():
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert compute_topic_stats(
        topic_id="abc123",
        title="Discussion about features",
        summary="They spoke of features.",
        importance=0.5,
        access_count=15,
        live=4,
        packed=8,
        created_at=now - timedelta(hours=1),
        last_active_at=now - timedelta(minutes=2),
        now=now,
    ) == {
        "topic_id": "abc123",
        "topic_title": "Discussion about features",
        "active_messages": 4,
        "compressed_messages": 8,
        "total_messages": 12,
        "has_summary": True,
        "importance_score": 0.5,
        "access_count": 15,
        "memory_type": "long-term",
        "half_life_days": 8.0,
        "age_seconds": 3600,
        "inactive_seconds": 120,
    }
