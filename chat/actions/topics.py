"""The topics of a conversation: which one a message joins, what it counts, when it retires (design §7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from django.db import transaction
from django.db.models.functions import Substr
from django.utils import timezone

from chat.models import Conversation, Message, Role, Topic
from chat.topics import decay, match
from chat.topics.contents import with_contents
from chat.topics.match import Candidate, Vector

from . import jobs, storage

TITLE = 80  # seed 002, "Data Structures"
_COUNTED = ("last_active_at", "access_count", "message_count")
# What the words of topics without a vector are taken from: enough of the newest messages to compare with.
_WORDS_FROM_MESSAGES, _WORDS_FROM_CHARACTERS = 200, 600


def assign(message: Message, vector: Vector | None, embedder: str) -> Topic:
    """Find or open the topic of a user's message, and return it with all that it holds live again.

    `vector` is the message's, made before and outside (None without an embedder, or where it cannot read the
    language). In one short transaction: the topic counts an access and becomes the active one, and others may
    retire. A message that has a topic keeps it.
    """
    now = timezone.now()
    with transaction.atomic():
        held = Conversation.objects.select_for_update().only("pk", "cleared_through")
        conversation = held.get(pk=message.conversation_id)
        placed = Message.objects.only("topic_id").get(pk=message.pk).topic_id
        if placed is not None:
            message.topic = Topic.objects.get(pk=placed)
            return message.topic
        topics = list(Topic.objects.filter(conversation=conversation).current().seen_in(conversation))
        active = storage.active_topic(conversation.pk)
        if active not in {t.pk for t in topics}:
            active = None
        candidates = _candidates(topics, vector, embedder)
        chosen = match.choose(message.content, vector, embedder, candidates, active)
        topic = next((t for t in topics if t.pk == chosen), None)
        if topic is None:
            topic = Topic(conversation=conversation, created_at=now)
            topics.append(topic)
        _touch(topic, message, vector, embedder, now)
        Message.objects.filter(pk=message.pk).update(topic=topic)
        # The prompt is built from this very instance.
        message.topic = topic
        if chosen is not None:
            storage.restore(topic)
        _retire(topics, topic.pk, now)
    return topic


def join(reply: Message) -> None:
    """Put a reply into the topic of what it answers, and ask for the packing of others, where there is some.

    Now its prompt is known, and with it what no prompt holds any more. In the caller's transaction.
    """
    earlier = Message.objects.filter(conversation=reply.conversation_id, role=Role.USER, seq__lt=reply.seq)
    topic = earlier.order_by("-seq").values_list("topic", flat=True).first()
    if topic is not None:
        Message.objects.filter(pk=reply.pk).update(topic=topic)
        # A reply that was written anew counts once.
        Topic.objects.filter(pk=topic).update(
            message_count=Message.objects.filter(topic=topic).shown().count(),
        )
        for key in storage.waiting(reply.conversation_id, topic):
            jobs.enqueue("pack_topic", {"topic": str(key)}, key=f"pack_topic:{key}")


def set_importance(topic: Topic, value: float) -> None:
    """Set how much a topic matters, 0–1: with less it retires sooner (seed 002, "Topic Decay")."""
    if not 0 <= value <= 1:
        raise ValueError("Importance is a number from 0 to 1.")
    Topic.objects.filter(pk=topic.pk).update(importance=value)
    topic.importance = value


def retire(conversation: Conversation, now: datetime) -> int:
    """Let the topics go that must, and return how many; their messages stay readable."""
    with transaction.atomic():
        topics = list(Topic.objects.select_for_update().filter(conversation=conversation).current())
        return _retire(topics, storage.active_topic(conversation.pk), now)


def unsay(conversation: Conversation, seq: int) -> None:
    """Take what was replaced from a place on out of the topics; in the transaction that replaced it.

    A topic of which nothing is left goes. One whose summary speaks of it is unpacked, to be summed up anew.
    """
    gone = Message.objects.filter(conversation=conversation, seq__gte=seq, replaced_by__isnull=False)
    topics = list(Topic.objects.filter(pk__in=gone.values("topic")).with_counts())
    said: dict[Any, list[str]] = defaultdict(list)
    for m in with_contents(Message.objects.filter(topic__in=topics, role=Role.USER).shown()):
        said[m.topic_id].append(m.content)
    for topic in topics:
        topic.message_count = topic.live + topic.packed  # type: ignore[attr-defined]
        if not topic.message_count or topic.summarised_through >= seq:
            storage.restore(topic)
            topic.summary, topic.summarised_through = "", 0
        telling = [text for text in said[topic.pk] if not match.is_short(text)] or said[topic.pk]
        topic.title = " ".join(telling[0].split())[:TITLE] if telling else ""
    Topic.objects.bulk_update(topics, ["message_count", "summary", "summarised_through", "title"])
    empty = Topic.objects.filter(pk__in=[t.pk for t in topics], message_count=0)
    empty.filter(archives__isnull=True).delete()
    # What a damaged archive still holds stays with it.
    empty.update(retired_at=timezone.now())


def _touch(topic: Topic, message: Message, vector: Vector | None, embedder: str, now: datetime) -> None:
    """Count an access; the vector is a running mean, since one message alone is too particular (match.py)."""
    before = _vector_of(topic, embedder)
    if vector is not None and not match.is_short(message.content):
        topic.embedding = match.moved(before, vector, topic.access_count).astype(np.float32).tobytes()
        topic.embedder = embedder
    if match.is_short(topic.title):
        # It began with a greeting; what it is about is said now.
        topic.title = " ".join(message.content.split())[:TITLE]
    topic.last_active_at = now
    topic.access_count += 1
    topic.message_count += 1
    changing = None if topic._state.adding else ("embedding", "embedder", "title", *_COUNTED)
    topic.save(update_fields=changing)


def _retire(topics: Sequence[Topic], active: Any, now: datetime) -> int:
    standings = [decay.Standing(t.pk, t.importance, t.access_count, t.last_active_at) for t in topics]
    gone = decay.retiring(standings, active, now)
    return Topic.objects.filter(pk__in=gone).update(retired_at=now) if gone else 0


def _vector_of(topic: Topic, embedder: str) -> Vector | None:
    if topic.embedding is None or topic.embedder != embedder:
        return None
    return np.frombuffer(bytes(topic.embedding), dtype=np.float32)


def _candidates(topics: Sequence[Topic], vector: Vector | None, embedder: str) -> list[Candidate[Any]]:
    vectors = {t.pk: _vector_of(t, embedder) if vector is not None else None for t in topics}
    words = _words([t for t in topics if vectors[t.pk] is None])
    return [Candidate(t.pk, vectors[t.pk], words.get(t.pk, frozenset())) for t in topics]


def _words(topics: Sequence[Topic]) -> dict[Any, frozenset[str]]:
    """Return the words of topics in which more than small talk was said: of questions, replies, summary."""
    if not topics:
        return {}
    told = {t.pk: [t.title, t.summary] for t in topics if not match.is_short(t.title)}
    newest = Message.objects.filter(topic__in=told, archive__isnull=True).order_by("-seq")
    pieces = newest.annotate(head=Substr("content", 1, _WORDS_FROM_CHARACTERS)).values_list("topic", "head")
    said: dict[Any, list[str]] = defaultdict(list, told)
    for key, head in pieces[:_WORDS_FROM_MESSAGES]:
        said[key].append(head)
    return {key: match.words(" ".join(texts)) for key, texts in said.items()}
