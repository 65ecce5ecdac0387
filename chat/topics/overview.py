"""Reads what there is to say about a topic."""

from __future__ import annotations

from datetime import datetime

from chat.models import Topic

from .stats import TopicStats, stats


def stats_of(topic: Topic, now: datetime) -> TopicStats:
    """Return the seed's figures for a topic, its messages counted as the chat shows them."""
    counted = Topic.objects.filter(pk=topic.pk).with_counts().get()
    return stats(
        topic_id=str(topic.pk),
        title=topic.title,
        summary=topic.summary,
        importance=topic.importance,
        access_count=topic.access_count,
        live=counted.live,  # type: ignore[attr-defined]
        packed=counted.packed,  # type: ignore[attr-defined]
        created_at=topic.created_at,
        last_active_at=topic.last_active_at,
        now=now,
    )
