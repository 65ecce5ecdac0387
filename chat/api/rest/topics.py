"""What a conversation is about: its topics with their figures, and how much each matters (seed 002)."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from chat.actions import guard
from chat.actions import topics as actions
from chat.actions.storage import active_topic
from chat.api.topics import stats
from chat.models import Topic
from chat.models.topic import TopicQuerySet
from chat.views.scope import own_conversation, own_topic

from .common import Body, IfMatch, Request, Share, responses, seen, tagged

router = Router(tags=["topics"])
of_conversation = Router(tags=["topics"])


class StatsOut(Schema):
    """The seed's figures; ages in seconds, the half-life in days."""

    topic_id: UUID
    topic_title: str
    active_messages: int
    compressed_messages: int
    total_messages: int
    has_summary: bool
    importance_score: float = Field(ge=0, le=1)
    access_count: int
    memory_type: str
    half_life_days: float
    age_seconds: float
    inactive_seconds: float


class TopicOut(Schema):
    """What several messages are about; one that is retired is matched no more and stays readable."""

    id: UUID
    conversation: UUID
    title: str
    summary: str
    is_active: bool
    importance: float = Field(ge=0, le=1)
    created_at: datetime
    last_active_at: datetime
    retired_at: datetime | None
    stats: StatsOut
    etag: str


class TopicPatch(Body):
    """How much the topic matters: with less it retires sooner."""

    importance: Share


def topic_mark(topic: Topic) -> str:
    """Return what changes with what of a topic can be edited."""
    return guard.mark(topic.pk, topic.importance)


def topic_out(topic: Topic, active: Any) -> TopicOut:
    """Tell a topic that came with its counts."""
    return TopicOut(
        id=topic.pk,
        conversation=topic.conversation_id,
        title=topic.title,
        summary=topic.summary,
        is_active=topic.pk == active,
        importance=topic.importance,
        created_at=topic.created_at,
        last_active_at=topic.last_active_at,
        retired_at=topic.retired_at,
        stats=StatsOut.model_validate(stats(topic)),
        etag=topic_mark(topic),
    )


@of_conversation.get("/{conversation_id}/topics", response=list[TopicOut])
def list_topics(request: Request, conversation_id: UUID) -> list[TopicOut]:
    """List a conversation's topics, the last active first, those that have retired too."""
    found = own_conversation(request, conversation_id)
    active = active_topic(found.pk)
    rows = _counted(request).filter(conversation=found).order_by("-last_active_at", "pk")
    return [topic_out(topic, active) for topic in rows]


@router.get("/{topic_id}", response=TopicOut)
def get_topic(request: Request, response: HttpResponse, topic_id: UUID) -> TopicOut:
    """Tell one topic and its figures."""
    topic = get_object_or_404(_counted(request), pk=topic_id)
    tagged(response, topic_mark(topic))
    return topic_out(topic, active_topic(topic.conversation_id))


@router.patch("/{topic_id}", response=TopicOut, openapi_extra=responses(412))
def weigh_topic(
    request: Request, response: HttpResponse, topic_id: UUID, body: TopicPatch, if_match: IfMatch = None
) -> TopicOut:
    """Set how much a topic matters."""
    read = lambda: own_topic(request, topic_id)  # noqa: E731
    with guard.unchanged(request.auth, read, topic_mark, seen(if_match)) as topic:
        actions.set_importance(topic, body.importance)
    return get_topic(request, response, topic_id)


def _counted(request: Request) -> TopicQuerySet:
    rows = Topic.objects.for_owner(request.auth).filter(conversation__deletion=None)
    return rows.with_counts()
