"""The topic methods of seed 002 over the rooms; what the seed calls compressed is packed here."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from chat.actions import storage, topics
from chat.models import Conversation, Topic
from chat.topics.stats import TopicStats
from chat.topics.stats import stats as figures

from .sessions import said


def active(conversation: Conversation) -> Topic | None:
    """Return the topic that was spoken of last, with its counts; None before there is one."""
    mine = Topic.objects.for_owner(conversation.owner).filter(conversation=conversation)
    return mine.with_counts().filter(pk=storage.active_topic(conversation.pk)).first()


def stats(topic: Topic) -> TopicStats:
    """Return the seed's figures for a topic that `active` gave."""
    return figures(
        topic_id=str(topic.pk),
        title=topic.title,
        summary=topic.summary,
        importance=topic.importance,
        access_count=topic.access_count,
        live=topic.live,  # type: ignore[attr-defined]
        packed=topic.packed,  # type: ignore[attr-defined]
        created_at=topic.created_at,
        last_active_at=topic.last_active_at,
        now=timezone.now(),
    )


def weigh(conversation: Conversation, importance: float) -> None:
    """Set how much the active topic matters, 0–1."""
    if (topic := active(conversation)) is not None:
        topics.set_importance(topic, importance)


def context(conversation: Conversation) -> list[dict[str, str]]:
    """Return the active topic as a prompt may take it: its summary, and its live messages in order."""
    topic = active(conversation)
    if topic is None:
        return []
    summary = [{"role": "system", "content": f"Topic summary: {topic.summary}"}] if topic.summary else []
    live = [m for m in said(conversation) if m.topic_id == topic.pk and m.archive_id is None]
    return [*summary, *({"role": m.role, "content": m.content} for m in live)]


def history(conversation: Conversation, *, packed: bool) -> list[dict[str, Any]]:
    """Return all that was said in order, with times in Unix seconds and topics."""
    return [
        {
            "role": m.role,
            "content": m.content,
            "timestamp": m.created_at.timestamp(),
            "topic_id": str(m.topic_id) if m.topic_id else None,
        }
        for m in said(conversation)
        if packed or m.archive_id is None
    ]
