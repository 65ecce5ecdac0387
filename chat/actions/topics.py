"""Topics of a conversation: assigning messages, counting, retiring."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from django.db import DEFAULT_DB_ALIAS, connection, transaction
from django.db.models import Subquery, UUIDField
from django.db.models.functions import Substr
from django.utils import timezone

from chat.memory.kept_out import leave_out_kept, leave_out_marked
from chat.models import Conversation, Message, Role, Topic, TopicArchive
from chat.models.compiled import CompiledQuery, update_columns
from chat.topics import decay, match
from chat.topics.contents import load_contents
from chat.topics.match import TopicCandidate, Vector
from chat.topics.rules import DEFAULT_RULES, TopicRules

from . import jobs, topic_archive

MAX_TITLE = 80  # characters; the column's length
_CHANGED = ("title", "embedding", "embedder", "last_active_at", "access_count", "message_count")
# Topics without a vector are compared by words: those of this many newest messages, this many characters
# each.
_WORDS_FROM_MESSAGES, _WORDS_FROM_CHARACTERS = 200, 600


class TopicRow(NamedTuple):
    """The columns of a topic that matching and retiring need, in the order of the model."""

    pk: Any
    title: str
    summary: str
    embedding: bytes | None
    embedder: str
    last_active_at: datetime
    importance: float
    access_count: int
    message_count: int


def _query_topic_rows(conversation_id: Any) -> Any:
    return Topic.objects.filter(conversation=conversation_id).current().values_list(*TopicRow._fields)


def _query_places(message_id: Any, conversation_id: Any) -> Any:
    """Select a message's topic, the topic of the conversation's last message that has one, and what is
    cleared.
    """
    placed = topic_archive.list_placed_messages(conversation_id).values("topic")[:1]
    own = Message.objects.filter(pk=message_id).annotate(active=Subquery(placed, UUIDField()))
    return own.values_list("topic", "active", "conversation__cleared_through")


_TOPIC_ROWS = CompiledQuery(_query_topic_rows)
_PLACES = CompiledQuery(_query_places, keys=2)
_CONVERSATION_LOCK = CompiledQuery(
    lambda key: Conversation.objects.select_for_update().filter(pk=key).values_list("pk")
)
_ARCHIVES = CompiledQuery(lambda key: TopicArchive.objects.filter(topic=key).values_list("pk"))


def assign_topic(
    message: Message, vector: Vector | None, embedder: str, rules: TopicRules = DEFAULT_RULES
) -> Topic:
    """Assign a user's message to a matching or a new topic, and return the topic.

    `vector` is the message's float32 vector of shape (dimensions,), computed before the call; None
    without an embedder, or when it does not support the language. The topic counts an access and becomes
    the active one; when another one was active before, its packed messages are restored. Others may retire.
    A message keeps the topic that it has. One short transaction.
    """
    now, title = timezone.now(), _make_title(message)
    with transaction.atomic():
        if connection.features.has_select_for_update:
            # Before the message is read: on PostgreSQL another process may be assigning it now. On SQLite the
            # transaction has locked the database.
            _CONVERSATION_LOCK.fetch(message.conversation_id)
        found = match_message(message, vector, embedder, rules)
        topic = found.topic or Topic(conversation_id=message.conversation_id, created_at=now)
        # The prompt is built from this instance.
        message.topic_id = topic.pk
        if found.is_assigned:
            return topic
        if found.topic and topic.pk != found.active and _unpack_archived(topic):
            topic.restored_through = message.seq - 1
            update_columns(topic, ["restored_through"])
        _record_access(topic, message, title, vector, embedder, now)
        update_columns(message, ["topic"])
        _retire(found.topics if found.topic else [*found.topics, topic], topic.pk, now, rules)
    return topic


@dataclass(frozen=True, slots=True)
class TopicMatch:
    """The topic that a message belongs to, None for a new one, among the current `topics`.

    `active` is the id of the topic of the message before. `is_assigned`: the message has this topic already.
    """

    topic: Topic | None
    topics: list[TopicRow]
    active: Any
    is_assigned: bool = False


def match_message(
    message: Message, vector: Vector | None, embedder: str, rules: TopicRules = DEFAULT_RULES
) -> TopicMatch:
    """Return the topic that a user's message belongs to; the arguments are those of `assign_topic`.

    Two queries, and one more where topics are compared by words. A short message is compared with none.
    """
    assigned, active, cleared_through = _PLACES.get(message.pk, message.conversation_id)
    if assigned is not None:
        return TopicMatch(Topic.objects.get(pk=assigned), [], active, is_assigned=True)
    rows = {row.pk: row for row in _read_topics(message.conversation_id, cleared_through)}
    topics = list(rows.values())
    active = active if active in rows else None
    # A short message has no vector, and stays in the active topic whatever the words of the others.
    stays = vector is None and active is not None and match.is_too_short(message.content)
    candidates = [] if stays else _candidates(topics, vector, embedder)
    threshold = rules.similarity_threshold
    chosen = match.choose_topic(message.content, vector, embedder, candidates, active, threshold)
    return TopicMatch(None if chosen is None else _build_topic(rows[chosen]), topics, active)


def _read_topics(conversation_id: Any, cleared_through: int) -> Iterator[TopicRow]:
    """Yield the current topics without messages that `/clear` has hidden, the last active first."""
    if not cleared_through:
        return map(TopicRow._make, _TOPIC_ROWS.fetch(conversation_id))
    conversation = Conversation(pk=conversation_id, cleared_through=cleared_through)
    current = Topic.objects.filter(conversation=conversation).current().begun_after_clear(conversation)
    return map(TopicRow._make, current.values_list(*TopicRow._fields))


def _build_topic(row: TopicRow) -> Topic:
    """Return the model's instance; other columns are read when they are first used."""
    return Topic.from_db(DEFAULT_DB_ALIAS, ["id", *TopicRow._fields[1:]], row)


def assign_reply(reply: Message) -> None:
    """Assign a reply to the topic of the message that it answers, and queue the packing of other topics.

    Called when the prompt is known, and with it which messages no prompt contains. In the caller's
    transaction.
    """
    earlier = Message.objects.filter(conversation=reply.conversation_id, role=Role.USER, seq__lt=reply.seq)
    topic = earlier.order_by("-seq").values_list("topic", flat=True).first()
    if topic is not None:
        Message.objects.filter(pk=reply.pk).update(topic=topic)
        # A regenerated reply counts once.
        Topic.objects.filter(pk=topic).update(
            message_count=Message.objects.filter(topic=topic).current_branch().count(),
        )
        for key in topic_archive.find_topics_to_pack(reply.conversation_id, topic):
            owner_id = reply.conversation.owner_id
            jobs.enqueue("pack_topic", {"topic": str(key)}, key=f"pack_topic:{key}", owner_id=owner_id)


def set_importance(topic: Topic, value: float) -> None:
    """Set a topic's importance, 0 to 1: a lower one retires sooner. Raises ValueError outside that range."""
    if not 0 <= value <= 1:
        raise ValueError("Importance is a number from 0 to 1.")
    Topic.objects.filter(pk=topic.pk).update(importance=value)
    topic.importance = value


def retire_topics(conversation: Conversation, now: datetime, rules: TopicRules = DEFAULT_RULES) -> int:
    """Retire the topics with the lowest priority; returns how many. Their messages stay readable."""
    with transaction.atomic():
        topics = list(Topic.objects.select_for_update().filter(conversation=conversation).current())
        return _retire(topics, topic_archive.find_active_topic(conversation.pk), now, rules)


def remove_replaced_messages(conversation: Conversation, seq: int) -> None:
    """Remove messages replaced from `seq` on from the topics; in the transaction that replaced them.

    An empty topic is deleted. A topic whose summary covers them is unpacked, to be summarised again.
    """
    retired = Message.objects.filter(conversation=conversation, seq__gte=seq, replaced_by__isnull=False)
    topics = list(Topic.objects.filter(pk__in=retired.values("topic")).with_counts())
    texts_by_topic: dict[Any, list[str]] = defaultdict(list)
    for m in load_contents(Message.objects.filter(topic__in=topics, role=Role.USER).current_branch()):
        texts_by_topic[m.topic_id].append(leave_out_marked(m).content)
    for topic in topics:
        topic.message_count = topic.live + topic.packed  # type: ignore[attr-defined]
        if not topic.message_count or topic.summarised_through >= seq:
            topic_archive.unpack_in_transaction(topic)
            topic.summary, topic.summarised_through = "", 0
        informative = [
            text for text in texts_by_topic[topic.pk] if not match.is_too_short(text)
        ] or texts_by_topic[topic.pk]
        topic.title = " ".join(informative[0].split())[:MAX_TITLE] if informative else ""
    Topic.objects.bulk_update(topics, ["message_count", "summary", "summarised_through", "title"])
    empty = Topic.objects.filter(pk__in=[t.pk for t in topics], message_count=0)
    empty.filter(archives__isnull=True).delete()
    # A topic with a damaged archive is kept.
    empty.update(retired_at=timezone.now())


def _record_access(
    topic: Topic, message: Message, title: str, vector: Vector | None, embedder: str, now: datetime
) -> None:
    """Count an access and update the topic's vector, a running mean of its messages' vectors.

    One message alone is too specific to compare with.
    """
    before = _vector_of(topic, embedder)
    if vector is not None and not match.is_too_short(message.content):
        topic.embedding = (
            match.update_topic_vector(before, vector, topic.access_count).astype(np.float32).tobytes()
        )
        topic.embedder = embedder
    if not topic.title or (match.is_too_short(topic.title) and not match.is_too_short(message.content)):
        # New, or it began with a greeting and this message names the subject.
        topic.title = title
    topic.last_active_at = now
    topic.access_count += 1
    topic.message_count += 1
    if topic._state.adding:
        topic.save()
    else:
        update_columns(topic, _CHANGED)


def _make_title(message: Message) -> str:
    """Return the words of a message as a title, without what memory must not use."""
    [usable] = leave_out_kept([message])
    return " ".join(usable.content.split())[:MAX_TITLE]


def _unpack_archived(topic: Topic) -> int:
    """Unpack a topic where it has an archive; return how many messages were packed."""
    return topic_archive.unpack_in_transaction(topic) if _ARCHIVES.fetch(topic.pk) else 0


def _retire(topics: Sequence[Topic | TopicRow], active: Any, now: datetime, rules: TopicRules) -> int:
    if len(topics) <= rules.max_topics:
        return 0
    standings = [decay.TopicActivity(t.pk, t.importance, t.access_count, t.last_active_at) for t in topics]
    retired = decay.choose_retiring_topics(standings, active, now, rules)
    return Topic.objects.filter(pk__in=retired).update(retired_at=now) if retired else 0


def _vector_of(topic: Topic | TopicRow, embedder: str) -> Vector | None:
    if topic.embedding is None or topic.embedder != embedder:
        return None
    return np.frombuffer(topic.embedding, dtype=np.float32)


def _candidates(
    topics: Sequence[TopicRow], vector: Vector | None, embedder: str
) -> list[TopicCandidate[Any]]:
    vectors = {t.pk: _vector_of(t, embedder) if vector is not None else None for t in topics}
    words = _collect_words([t for t in topics if vectors[t.pk] is None])
    return [TopicCandidate(t.pk, vectors[t.pk], words.get(t.pk, frozenset())) for t in topics]


def _collect_words(topics: Sequence[TopicRow]) -> dict[Any, frozenset[str]]:
    """Return the words of each topic with more than small talk: of its messages, title and summary."""
    if not topics:
        return {}
    opening_texts = {t.pk: [t.title, t.summary] for t in topics if not match.is_too_short(t.title)}
    newest = Message.objects.filter(topic__in=opening_texts, archive__isnull=True).order_by("-seq")
    pieces = newest.annotate(head=Substr("content", 1, _WORDS_FROM_CHARACTERS)).values_list("topic", "head")
    texts_by_topic: dict[Any, list[str]] = defaultdict(list, opening_texts)
    for key, head in pieces[:_WORDS_FROM_MESSAGES]:
        texts_by_topic[key].append(head)
    return {key: match.extract_match_terms(" ".join(texts)) for key, texts in texts_by_topic.items()}
