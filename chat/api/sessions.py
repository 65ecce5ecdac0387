"""The session methods of seed 001 over the rooms: a session is a conversation of one owner."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from django.db.models import Count, Q
from django.utils import timezone
from pydantic import ValidationError

from chat.actions import keeping, messages, topics
from chat.generation.placing import embedded
from chat.models import Conversation, MessageState, Role
from chat.models import Message as Row
from chat.models.conversation import ConversationQuerySet
from chat.porting.storable import storable
from chat.topics.contents import lost, with_contents
from memoryapp import logs

from .counting import counter
from .recent import newest_that_fit
from .schema import Message, as_json

logger = logging.getLogger(__name__)
_MOST = 1_000_000_000  # rows; databases know no greater numbers than twice that
_LONGEST_AGO = 36_500  # days; before there was anything


class Sessions:
    """One owner's sessions; every query begins with that owner. Safe in any thread, not in an event loop."""

    def __init__(self, owner: Any, strategy: str) -> None:
        self.owner = owner
        self.strategy = strategy

    def create(self, system_prompt: str, metadata: dict[str, Any]) -> str:
        """Begin a session and return its id."""
        if not isinstance(metadata, dict):
            raise ValueError(f"metadata is a dict, not {metadata!r}.")
        kept = {"system_prompt": storable(system_prompt or ""), "metadata": as_json(metadata)}
        made = keeping.begin(self.owner, **kept, strategy=self.strategy)
        return str(made.pk)

    def find(self, session_id: str) -> Conversation | None:
        """Return the conversation that this id means, None when there is none yet."""
        # What only a page needs stays away: a session whose metadata is damaged can still be read.
        mine = self._mine().defer("metadata", "memory_block_facts", "prepared")
        return mine.filter(pk__in=self._keys(session_id)).order_by("created_at").first()

    def resolve(self, session_id: str) -> Conversation:
        """Return the conversation that this id means; an unknown id begins one that it means from now on."""
        session_id = storable(session_id)
        found = self.find(session_id)
        if found is None:
            key = self._keys(session_id)[-1]
            logger.warning("session %s is unknown; a new one was begun as %s", session_id, key)
            found = keeping.begin(self.owner, key, strategy=self.strategy)
            if found.deletion_id is not None:
                raise ValueError(f"Session {session_id} is being deleted on its page.")
        return found

    def load(self, session_id: str) -> list[Message]:
        """Return all that was said, in order."""
        return list(as_messages(said(self.resolve(session_id))))

    def save(self, session_id: str, message: Message) -> Row:
        """Add a message; its row names the session that it is in."""
        conversation = self.resolve(session_id)
        fields = message.model_dump(include={"tool_calls", "created_at"})
        fields.update(tool_call_id=message.tool_call_id or "", name=message.name or "")
        try:
            return messages.add_message(conversation, message.role, message.content, **fields)
        except messages.Refused as reason:
            raise ValueError(str(reason)) from reason

    def place(self, row: Row) -> None:
        """Put what a user said into its topic: by vectors where there is an embedder here, else by words."""
        if row.role == Role.USER and row.content.strip():
            topics.assign(row, *embedded(row.content))

    def recent(self, session_id: str, max_tokens: int) -> list[Message]:
        """Return the newest messages that fit, in time order."""
        return newest_that_fit(self.load(session_id), max_tokens, counter().of)

    def listed(self, limit: int) -> list[dict[str, Any]]:
        """Return the sessions last written in, the newest first."""
        shown = Count("messages", filter=Q(messages__replaced_by__isnull=True))
        rows = self._mine().listed().newest_first().annotate(message_count=shown)
        found: list[dict[str, Any]] = []
        for key in rows.values_list("pk", flat=True)[: max(0, min(limit, _MOST))]:
            try:
                found.extend(_entry(row) for row in rows.filter(pk=key))
            except (TypeError, ValueError) as error:
                logger.error("session %s cannot be read and is left out: %s", key, logs.told(error))
        return found

    def delete(self, session_id: str) -> None:
        """Remove a session for good; an unknown one is gone already."""
        if (found := self.find(session_id)) is not None:
            keeping.delete(found)

    def prune(self, days: int) -> int:
        """Delete what was not written in for so many days; returns how many sessions.

        Raises ValueError for less than a day: whoever reckons wrong, or means "never" by 0, loses nothing.
        """
        if not days >= 1:
            raise ValueError(f"days is at least 1, not {days!r}: it would delete what is used today.")
        return keeping.prune(self.owner, timezone.now() - timedelta(days=min(days, _LONGEST_AGO)))

    def _mine(self) -> ConversationQuerySet:
        return Conversation.objects.for_owner(self.owner).kept().select_related("app")

    def _keys(self, session_id: str) -> list[UUID]:
        """Return the keys that an id may mean; the last is the one a session of that name is begun with.

        Made from the owner and the id, so that any text serves as an id, the same one means the same session
        in every process, and nobody meets another owner's.
        """
        try:
            key = UUID(session_id := storable(session_id))
        except ValueError:
            return [uuid5(NAMESPACE_OID, f"memoryapp:{self.owner.pk}:{session_id}")]
        return [key, uuid5(NAMESPACE_OID, f"memoryapp:{self.owner.pk}:{key}")]


def _entry(row: Any) -> dict[str, Any]:
    metadata = row.metadata
    if not isinstance(metadata, dict):
        # Django hands on as text what is no JSON.
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


def said(conversation: Conversation) -> list[Row]:
    """Return what was said, in order, packed messages too; what is damaged is logged and left out.

    A reply that is still being written, or failed without a word, was not said.
    """
    rows = Row.objects.filter(conversation=conversation).shown().exclude(state=MessageState.STREAMING)
    whole = with_contents(rows.exclude(state=MessageState.FAILED, content="").readable())
    # What an archive did not give back has been logged, and nobody said the sentence in its place.
    return [row for row in whole if row.archive_id is None or row.content != lost()]


def as_messages(rows: Iterable[Row]) -> Iterator[Message]:
    """Return rows as a program sees them; a damaged one is logged and left out."""
    for row in rows:
        try:
            yield Message(
                role=row.role,
                content=row.content,
                tool_calls=row.tool_calls,
                tool_call_id=row.tool_call_id or None,
                name=row.name or None,
                created_at=row.created_at,
            )
        except ValidationError as error:
            logger.error("message %s cannot be read and is left out: %s", row.pk, logs.told(error))
