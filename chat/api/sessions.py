"""Sessions for `MemoryManager`: a session is a conversation of one owner."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from django.db.models import Count, Q
from django.utils import timezone

from chat.access import conversations_of, topics_of
from chat.actions import conversations, erasure, messages, topic_archive, topics
from chat.errors import Refused
from chat.generation.message_topic import embed_message
from chat.models import Conversation, Message, Role, Topic, User
from chat.text import clean_for_storage
from chat.topics.decay import TopicStats, compute_topic_stats
from chat.topics.rules import DEFAULT_RULES, TopicRules
from memoryapp.base import logs

from .history import convert_messages, load_undamaged, readable_messages, select_counter
from .schema import SessionMessage, as_json
from .session_context import SessionContext, summarise_packed_messages

logger = logging.getLogger(__name__)
# Rows. Databases accept no LIMIT beyond 2**31.
_MAX_ROWS = 1_000_000_000
_MAX_DAYS = 36_500


class Sessions:
    """One owner's sessions. Methods may run in any thread, but not in an event loop."""

    def __init__(self, owner: User, strategy: str, rules: TopicRules = DEFAULT_RULES) -> None:
        self.owner = owner
        self.strategy = strategy
        self.rules = rules

    def create(self, system_prompt: str, metadata: dict[str, Any]) -> str:
        """Begin a session and return its id."""
        if not isinstance(metadata, dict):
            raise ValueError(f"metadata is a dict, not {metadata!r}.")
        kept = {"system_prompt": clean_for_storage(system_prompt or ""), "metadata": as_json(metadata)}
        made = conversations.create_conversation(self.owner, **kept, strategy=self.strategy)
        return str(made.pk)

    def find(self, session_id: str) -> Conversation | None:
        """Return the conversation of this id; None where there is none yet."""
        # Without the columns that only pages need: a session whose metadata is damaged can still be read.
        rows = (
            conversations_of(self.owner)
            .select_related("app")
            .defer("metadata", "memory_block_facts", "prepared")
        )
        return rows.filter(pk__in=self._keys(session_id)).order_by("created_at").first()

    def resolve(self, session_id: str) -> Conversation:
        """Return the conversation of this id; an unknown id creates one that it names from now on.

        Raises ValueError where that conversation is being deleted.
        """
        session_id = clean_for_storage(session_id)
        found = self.find(session_id)
        if found is None:
            key = self._keys(session_id)[-1]
            logger.warning("session %s is unknown; a new one was begun as %s", session_id, key)
            found = conversations.create_conversation(self.owner, key, strategy=self.strategy)
            if found.deletion_id is not None:
                raise ValueError(f"Session {session_id} is being deleted on its page.")
        return found

    def load(self, session_id: str) -> list[SessionMessage]:
        """Return all messages of a session, in order."""
        return list(convert_messages(load_undamaged(readable_messages(self.resolve(session_id)))))

    def save(self, session_id: str, message: SessionMessage) -> Message:
        """Add a message and return its row; raises ValueError where it is refused."""
        conversation = self.resolve(session_id)
        fields = message.model_dump(include={"tool_calls", "created_at"})
        fields.update(tool_call_id=message.tool_call_id or "", name=message.name or "", by_program=True)
        try:
            return messages.add_message(conversation, message.role, message.content, **fields)
        except Refused as reason:
            raise ValueError(str(reason)) from reason

    def assign_topic(self, row: Message) -> None:
        """Assign a user's message to a topic: by embedding where an embedder is available, else by words."""
        if row.role == Role.USER and row.content.strip():
            topics.assign_topic(row, *embed_message(row.content), self.rules)

    def pack(self, row: Message) -> None:
        """Pack the topics that have too many messages since this one was added."""
        topic_archive.pack_long_topics(row.conversation_id, self.rules)

    def load_recent(self, session_id: str, max_tokens: int) -> list[SessionMessage]:
        """Return the newest messages within `max_tokens` as the session's strategy chooses them."""
        return SessionContext(self.resolve(session_id), max_tokens, select_counter()).load()

    def list_recent(self, limit: int) -> list[dict[str, Any]]:
        """Return sessions by their last change, newest first; damaged ones are logged and left out."""
        shown = Count("messages", filter=Q(messages__replaced_by__isnull=True))
        rows = conversations_of(self.owner).listed().newest_first().annotate(message_count=shown)
        found: list[dict[str, Any]] = []
        for key in rows.values_list("pk", flat=True)[: max(0, min(limit, _MAX_ROWS))]:
            try:
                found.extend(_entry(row) for row in rows.filter(pk=key))
            except (TypeError, ValueError) as error:
                logger.error("session %s cannot be read and is left out: %s", key, logs.describe_error(error))
        return found

    def delete(self, session_id: str) -> None:
        """Delete a session permanently; an unknown id is ignored."""
        if (found := self.find(session_id)) is not None:
            erasure.purge_conversation(found)

    def prune(self, days: int) -> int:
        """Delete the sessions without a change for so many days, and return their number.

        Raises ValueError for less than one day, so that a wrong 0 deletes nothing.
        """
        if not days >= 1:
            raise ValueError(f"days is at least 1, not {days!r}: it would delete what is used today.")
        return erasure.prune_conversations(self.owner, timezone.now() - timedelta(days=min(days, _MAX_DAYS)))

    def topic_stats(self, session_id: str) -> dict[str, Any]:
        """Return the statistics of the session's active topic, ages in seconds; empty before there is one."""
        topic = _load_active_topic(self.resolve(session_id))
        return {} if topic is None else {**build_topic_stats(topic, self.rules)}

    def set_topic_importance(self, session_id: str, importance: float) -> None:
        """Set the importance of the active topic, 0–1."""
        if (topic := _load_active_topic(self.resolve(session_id))) is not None:
            topics.set_importance(topic, importance)

    def topic_context(self, session_id: str) -> list[dict[str, str]]:
        """Return the active topic for a prompt: its summary, then the messages that it does not cover.

        These are the messages that are not packed, and packed ones that are not summarised yet. Where this
        process has a model, blocks while it summarises them.
        """
        conversation = self.resolve(session_id)
        topic = _load_active_topic(conversation)
        if topic is None:
            return []
        topic.conversation = conversation
        summarise_packed_messages(topic)
        summary = [{"role": "system", "content": f"Topic summary: {topic.summary}"}] if topic.summary else []
        own = readable_messages(conversation).filter(topic=topic)
        shown = load_undamaged(own.filter(Q(archive__isnull=True) | Q(seq__gt=topic.summarised_through)))
        return [*summary, *({"role": m.role, "content": m.content} for m in shown)]

    def topic_history(self, session_id: str, *, packed: bool) -> list[dict[str, Any]]:
        """Return all messages in order, with times in Unix seconds and topic ids; packed ones if asked."""
        rows = readable_messages(self.resolve(session_id))
        rows = rows if packed else rows.filter(archive__isnull=True)
        return [
            {
                "role": m.role,
                "content": m.content,
                "timestamp": m.created_at.timestamp(),
                "topic_id": str(m.topic_id) if m.topic_id else None,
            }
            for m in load_undamaged(rows)
        ]

    def _keys(self, session_id: str) -> list[UUID]:
        """Return the primary keys that an id may stand for; the last is the key of a newly created session.

        The key is derived from owner and id: any text can be an id, the same id is the same session in every
        process, and ids of different owners never collide.
        """
        try:
            key = UUID(session_id := clean_for_storage(session_id))
        except ValueError:
            return [uuid5(NAMESPACE_OID, f"memoryapp:{self.owner.pk}:{session_id}")]
        return [key, uuid5(NAMESPACE_OID, f"memoryapp:{self.owner.pk}:{key}")]


def _entry(row: Any) -> dict[str, Any]:
    metadata = row.metadata
    if not isinstance(metadata, dict):
        # Django returns invalid JSON as text.
        logger.error("the metadata of session %s cannot be read and is left out", row.pk)
        metadata = {}
    return {
        "id": str(row.pk),
        "title": row.title,
        "system_prompt": row.system_prompt,
        "metadata": metadata,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "message_count": row.message_count,
    }


def build_topic_stats(topic: Topic, rules: TopicRules = DEFAULT_RULES) -> TopicStats:
    """Return the statistics of a topic that was loaded `with_counts`."""
    return compute_topic_stats(
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
        rules=rules,
    )


def _load_active_topic(conversation: Conversation) -> Topic | None:
    """Return the topic of the last message, with its counts; None before there is one."""
    active = topic_archive.find_active_topic(conversation.pk)
    return (
        topics_of(conversation.owner)
        .filter(conversation=conversation)
        .with_counts()
        .filter(pk=active)
        .first()
    )
