"""Conversations with several topics, and vectors that identify them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chat.actions import topics
from chat.actions.owners import default_app
from chat.models import Conversation, Message, Topic

SUBJECTS = {"bread": 0, "boats": 1, "taxes": 2}


def make_subject_vector(subject: str | int) -> Any:
    """Return a unit vector that is orthogonal to those of other subjects."""
    vector = np.zeros(400, dtype=np.float32)
    vector[SUBJECTS[subject] if isinstance(subject, str) else subject] = 1
    return vector


@pytest.fixture
def conversation(owner: Any) -> Conversation:
    """A conversation without messages."""
    return Conversation.objects.create(owner=owner, app=default_app(owner))


@pytest.fixture
def exchange(conversation: Conversation) -> Callable[..., Topic]:
    """Return a function that saves a question about a subject and its reply, both assigned to their topic."""

    def write(subject: str | int, text: str = "", answer: str = "") -> Topic:
        seq = Message.objects.filter(conversation=conversation).count() + 1
        text = text or f"Question {seq} about {subject}: how is it done properly?"
        asked = Message.objects.create(conversation=conversation, seq=seq, role="user", content=text)
        topic = topics.assign_topic(asked, make_subject_vector(subject), "minilm-l6-int8")
        reply = Message.objects.create(
            conversation=conversation, seq=seq + 1, role="assistant", content=answer or f"Answer {seq + 1}."
        )
        topics.assign_reply(reply)
        topic.refresh_from_db()
        return topic

    return write


@pytest.fixture
def mark_processed(conversation: Conversation) -> Callable[[], None]:
    """Return a function that moves the watermarks: no prompt contains the messages, and all are extracted."""

    def leave() -> None:
        last = Message.objects.filter(conversation=conversation).count()
        Conversation.objects.filter(pk=conversation.pk).update(
            trimmed_through=last, extracted_through=last, kept=[1, 2]
        )

    return leave


@pytest.fixture
def bread(exchange: Callable[..., Topic], mark_processed: Callable[[], None]) -> Topic:
    """An inactive topic of 16 messages that no prompt contains."""
    exchange("taxes")
    for _ in range(8):
        topic = exchange("bread")
    exchange("boats")
    mark_processed()
    return topic
