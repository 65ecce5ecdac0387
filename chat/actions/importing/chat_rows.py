"""A conversation of a file, and its rows and those of its messages, topics and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from chat.actions.messages import CLOSED
from chat.actions.owners import redacts
from chat.memory.secrets import redact
from chat.models import Message, MessageState, PromptReport, Topic
from chat.porting.shapes import ConversationIn, MessageIn

from .forgotten import Forgotten
from .keys import derived, found, insert
from .outcome import Options

_LEFT = {"messages", "topics", "id", "app", "extracted_through", "app_memory_after"}


@dataclass(slots=True)
class Chat:
    """A conversation of the file, and the one here that it is; `local` are the places of its messages."""

    given: ConversationIn
    key: UUID
    is_here: bool = False
    # Why it must not be touched now.
    hindrance: str = ""
    local: dict[UUID, int] = field(default_factory=dict)
    messages: dict[UUID, UUID] = field(default_factory=dict)
    # What is written up to this place is none of memory's business, though it has not come so far.
    unlearned: int = 0

    @property
    def missing(self) -> list[MessageIn]:
        """The messages that are not here yet."""
        return [m for m in self.given.messages if self.messages[m.id] not in self.local]

    @property
    def goes_on(self) -> bool:
        """Whether what is here is how the file's conversation begins, so that the rest can follow."""
        there = {self.messages[m.id]: m.seq for m in self.given.messages}
        return all(there.get(key) == seq for key, seq in self.local.items())


class ChatRows:
    """Makes the rows of conversations that come in, and writes those of what was said in them."""

    def __init__(self, owner: Any, options: Options, forgotten: Forgotten) -> None:
        self._owner, self._forgotten = owner, forgotten
        self.learns = options.learn
        self._redacts = redacts(owner.pk)
        # Keys of facts that are not taken because they were forgotten: reports do not tell of them either.
        self.untold: frozenset[UUID] = frozenset()
        # Under which keys the file's facts are here.
        self.facts: dict[UUID, UUID] = {}

    def columns(self, chat: Chat) -> dict[str, Any]:
        """Return a conversation's columns, without the secrets that its summaries may tell."""
        given = chat.given
        last = max((m.seq for m in given.messages), default=0)
        columns = {name: getattr(given, name) for name in ConversationIn.model_fields if name not in _LEFT}
        columns["extracted_through"] = _or(given.extracted_through, last)
        columns["app_memory_after"] = _or(given.app_memory_after, last)
        columns["imported_through"] = 0 if self.learns else last
        for name in ("summary", "prompt_summary"):
            columns[name] = self._safe(columns[name])
        return columns

    def told_through(self, chat: Chat) -> int:
        """Return up to where its app need not be told of a conversation."""
        columns = self.columns(chat)
        told: int = max(columns["app_memory_after"], columns["imported_through"])
        return told

    def _safe(self, text: str) -> str:
        return redact(text) if self._redacts and text else text

    def write(self, chats: Sequence[tuple[Chat, Sequence[MessageIn]]], aside: UUID | None = None) -> None:
        """Write these messages of each conversation, with the topics that are not here yet.

        `aside` is another conversation that they stand in for now.
        """
        wanted = [(chat, topic) for chat, _rows in chats for topic in chat.given.topics]
        ids = [topic.id for _chat, topic in wanted]
        elsewhere = dict(found(Topic.objects.all(), "pk", ids, "pk", "conversation_id"))
        topics: dict[tuple[UUID, UUID], UUID] = {}
        fresh = []
        for chat, topic in wanted:
            own = chat.key == chat.given.id and elsewhere.get(topic.id, chat.key) in (chat.key, aside)
            key = topic.id if own else derived(self._owner, topic.id, chat.key)
            topics[chat.key, topic.id] = key
            fields = topic.model_dump(exclude={"id"})
            fields["summary"] = self._safe(topic.summary)
            fresh.append(Topic(pk=key, conversation_id=aside or chat.key, **fields))
        there = {pk for (pk,) in found(Topic.objects.all(), "pk", [t.pk for t in fresh], "pk")}
        Topic.objects.bulk_create(topic for topic in fresh if topic.pk not in there)
        reports: list[PromptReport] = []
        rows: list[Message] = []
        for chat, messages in chats:
            for given in messages:
                rows.append(self._row(chat, given, topics, aside or chat.key))
                if given.report is not None:
                    reports.append(self._report(rows[-1], given))
        insert(Message, rows)
        insert(PromptReport, reports)

    def _row(
        self, chat: Chat, given: MessageIn, topics: dict[tuple[UUID, UUID], UUID], conversation: UUID
    ) -> Message:
        # Whoever wrote it does so no more.
        halted = given.state == MessageState.STREAMING
        return Message(
            pk=chat.messages[given.id],
            conversation_id=conversation,
            seq=given.seq,
            role=given.role,
            content=given.content,
            state=MessageState.STOPPED if halted else given.state,
            failure=CLOSED if halted else given.failure,
            note=self._forgotten.cleaned(given.note, None if given.undated else given.created_at),
            flagged=given.flagged,
            imported=given.seq <= chat.unlearned or None,
            topic_id=topics[chat.key, given.topic] if given.topic else None,
            replaced_by_id=chat.messages[given.replaced_by] if given.replaced_by else None,
            tool_calls=given.tool_calls,
            tool_call_id=given.tool_call_id,
            name=given.name,
            created_at=self._forgotten.before(given.created_at) if given.undated else given.created_at,
        )

    def _report(self, reply: Message, given: MessageIn) -> PromptReport:
        report = given.report
        if report is None:
            raise ValueError("there is no report")
        fields = report.model_dump(exclude={"facts", "left_out"})
        facts = [str(self.facts.get(key, key)) for key in report.facts if key not in self.untold]
        left_out = [str(self.facts.get(key, key)) for key in report.left_out if key not in self.untold]
        return PromptReport(reply=reply, facts=facts, left_out=left_out, **fields)


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value
