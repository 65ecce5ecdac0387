"""The topics of a conversation with their statistics, and their importance."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from pydantic import Field

from chat.access import own_conversation, own_topic, topics_of
from chat.actions import optimistic_lock
from chat.actions import topics as actions
from chat.actions.topic_archive import find_active_topic
from chat.api.sessions import build_topic_stats
from chat.models import Topic

from .common import ApiRequest, Body, IfMatch, Share, parse_if_match, problem_responses, set_etag

router = Router(tags=["topics"])
of_conversation = Router(tags=["topics"])


class StatsOut(Schema):
    """The statistics of a topic; ages are in seconds, the half-life in days."""

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
    """A topic of a conversation; new messages are not matched with a retired one."""

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
    """The importance of the topic; topics of lower importance retire sooner."""

    importance: Share


def topic_etag(topic: Topic) -> str:
    """Return the etag of a topic; it changes with the importance."""
    return optimistic_lock.fingerprint(topic.pk, topic.importance)


def build_topic(topic: Topic, active: Any) -> TopicOut:
    """Return a topic as clients see it; it must be loaded `with_counts`."""
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
        stats=StatsOut.model_validate(build_topic_stats(topic)),
        etag=topic_etag(topic),
    )


@of_conversation.get("/{conversation_id}/topics", response=list[TopicOut])
def list_topics(request: ApiRequest, conversation_id: UUID) -> list[TopicOut]:
    """List the topics of a conversation, the last active first, retired ones too."""
    found = own_conversation(request, conversation_id)
    active = find_active_topic(found.pk)
    rows = topics_of(request.auth).with_counts().filter(conversation=found).order_by("-last_active_at", "pk")
    return [build_topic(topic, active) for topic in rows]


@router.get("/{topic_id}", response=TopicOut)
def get_topic(request: ApiRequest, response: HttpResponse, topic_id: UUID) -> TopicOut:
    """Return one topic and its statistics."""
    topic = get_object_or_404(topics_of(request.auth).with_counts(), pk=topic_id)
    set_etag(response, topic_etag(topic))
    return build_topic(topic, find_active_topic(topic.conversation_id))


@router.patch("/{topic_id}", response=TopicOut, openapi_extra=problem_responses(412))
def weigh_topic(
    request: ApiRequest, response: HttpResponse, topic_id: UUID, body: TopicPatch, if_match: IfMatch = None
) -> TopicOut:
    """Set the importance of a topic."""
    read = lambda: own_topic(request, topic_id)  # noqa: E731
    with optimistic_lock.lock_if_unchanged(request.auth, read, topic_etag, parse_if_match(if_match)) as topic:
        actions.set_importance(topic, body.importance)
    return get_topic(request, response, topic_id)
