"""Builds the rows of an imported conversation: its messages, topics and prompt reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.utils import timezone

from chat.actions.clock import AHEAD
from chat.actions.messages import PROCESS_CLOSED
from chat.actions.owners import redacts_secrets
from chat.errors import from_english
from chat.memory.secrets import redact_secrets
from chat.models import Message, MessageState, PromptReport, Topic, User
from chat.porting.shapes import ImportedConversation, ImportedMessage

from .id_map import derive_id, fetch_columns, insert_rows
from .report import ImportOptions
from .tombstone_filter import TombstoneFilter

_EXCLUDED = {"messages", "topics", "id", "app", "extracted_through", "app_memory_after"}


@dataclass(slots=True)
class ImportedChat:
    """A conversation of the file and its local counterpart.

    `local` maps the keys of the messages that exist here to their `seq`; `messages` maps the file's ids
    to keys here.
    """

    given: ImportedConversation
    key: UUID
    is_here: bool = False
    # Why it must not be changed now; empty if it can be.
    obstacle: str = ""
    local: dict[UUID, int] = field(default_factory=dict)
    messages: dict[UUID, UUID] = field(default_factory=dict)
    # Messages up to this `seq` are marked as imported, so that memory skips them although its watermark is
    # lower.
    imported_seq: int = 0

    @property
    def missing(self) -> list[ImportedMessage]:
        """The file's messages that are not here yet."""
        return [m for m in self.given.messages if self.messages[m.id] not in self.local]

    @property
    def is_continued(self) -> bool:
        """Whether the local messages are the beginning of the file's, so that the rest can be appended."""
        there = {self.messages[m.id]: m.seq for m in self.given.messages}
        return all(there.get(key) == seq for key, seq in self.local.items())


class ChatRows:
    """Builds the rows of imported conversations and writes their messages, topics and reports."""

    def __init__(self, owner: User, options: ImportOptions, forgotten: TombstoneFilter) -> None:
        self._owner, self._tombstones = owner, forgotten
        self.learns = options.learn
        self._redacts = redacts_secrets(owner.pk)
        # The file's ids of facts that are refused because they were deleted here: reports omit them.
        self.refused_facts: frozenset[UUID] = frozenset()
        # By the file's id: the key of a fact here.
        self.facts: dict[UUID, UUID] = {}

    def build_columns(self, chat: ImportedChat) -> dict[str, Any]:
        """Return a conversation's columns, with secrets redacted from its summaries."""
        given = chat.given
        last = max((m.seq for m in given.messages), default=0)
        columns = {
            name: getattr(given, name) for name in ImportedConversation.model_fields if name not in _EXCLUDED
        }
        columns["extracted_through"] = _default_to(given.extracted_through, last)
        columns["app_memory_after"] = _default_to(given.app_memory_after, last)
        columns["imported_through"] = 0 if self.learns else last
        if self._has_deleted_sentence(chat):
            columns |= {"summary": "", "prompt_summary": "", "summarised_through": 0}
        for name in ("summary", "prompt_summary"):
            columns[name] = self._redact(columns[name])
        return columns

    def _has_deleted_sentence(self, chat: ImportedChat) -> bool:
        """Return whether a message says a fact that was deleted here: a summary may say it in other words."""
        return any(self._find_deleted_sentences(given) for given in chat.given.messages)

    def _find_deleted_sentences(self, given: ImportedMessage) -> list[tuple[int, int]]:
        return self._tombstones.find_deleted_sentences(
            given.content, None if given.undated else given.created_at
        )

    def find_app_memory_through(self, chat: ImportedChat) -> int:
        """Return the `seq` up to which the app memory already covers a conversation."""
        columns = self.build_columns(chat)
        through: int = max(columns["app_memory_after"], columns["imported_through"])
        return through

    def _redact(self, text: str) -> str:
        return redact_secrets(text) if self._redacts and text else text

    def write(
        self, chats: Sequence[tuple[ImportedChat, Sequence[ImportedMessage]]], hidden: UUID | None = None
    ) -> None:
        """Write these messages of each conversation, and the topics that are not here yet.

        `hidden` is the key of the hidden conversation that holds them for now. In the caller's transaction.
        """
        wanted = [(chat, topic) for chat, _rows in chats for topic in chat.given.topics]
        ids = [topic.id for _chat, topic in wanted]
        topic_conversations = dict(fetch_columns(Topic.objects.all(), "pk", ids, "pk", "conversation_id"))
        topics: dict[tuple[UUID, UUID], UUID] = {}
        fresh = []
        for chat, topic in wanted:
            own = chat.key == chat.given.id and topic_conversations.get(topic.id, chat.key) in (
                chat.key,
                hidden,
            )
            key = topic.id if own else derive_id(self._owner, topic.id, chat.key)
            topics[chat.key, topic.id] = key
            fields = topic.model_dump(exclude={"id"})
            fields["summary"] = "" if self._has_deleted_sentence(chat) else self._redact(topic.summary)
            fresh.append(Topic(pk=key, conversation_id=hidden or chat.key, **fields))
        there = {pk for (pk,) in fetch_columns(Topic.objects.all(), "pk", [t.pk for t in fresh], "pk")}
        Topic.objects.bulk_create(topic for topic in fresh if topic.pk not in there)
        reports: list[PromptReport] = []
        rows: list[Message] = []
        for chat, messages in chats:
            for given in messages:
                rows.append(self._build_row(chat, given, topics, hidden or chat.key))
                if given.report is not None:
                    reports.append(self._build_report(rows[-1], given))
        insert_rows(Message, rows)
        insert_rows(PromptReport, reports)

    def _build_row(
        self,
        chat: ImportedChat,
        given: ImportedMessage,
        topics: dict[tuple[UUID, UUID], UUID],
        conversation: UUID,
    ) -> Message:
        said_at = None if given.undated else given.created_at
        # The process that was writing it is gone.
        was_streaming = given.state == MessageState.STREAMING
        return Message(
            pk=chat.messages[given.id],
            conversation_id=conversation,
            seq=given.seq,
            role=given.role,
            content=given.content,
            state=MessageState.STOPPED if was_streaming else given.state,
            failure=PROCESS_CLOSED if was_streaming else from_english(given.failure),
            note=self._tombstones.clean_note(given.note, said_at),
            flagged=given.flagged,
            importance=given.importance,
            # Without the key of a deletion of this machine.
            kept_out=[
                [start, end, ""] for start, end in (*given.kept_out, *self._find_deleted_sentences(given))
            ],
            imported=given.seq <= chat.imported_seq or None,
            date_inferred=True if given.undated else given.date_inferred,
            topic_id=topics[chat.key, given.topic] if given.topic else None,
            replaced_by_id=chat.messages[given.replaced_by] if given.replaced_by else None,
            tool_calls=given.tool_calls,
            tool_call_id=given.tool_call_id,
            name=given.name,
            created_at=self._tombstones.moment_before_deletions(given.created_at)
            if given.undated
            else given.created_at,
            # A date ahead says nothing about the order, and what was forgotten here must not come back.
            ordered_at=self._tombstones.moment_before_deletions(given.created_at)
            if given.created_at > timezone.now() + AHEAD
            else None,
        )

    def _build_report(self, reply: Message, given: ImportedMessage) -> PromptReport:
        report = given.report
        if report is None:
            raise ValueError("there is no report")
        fields = report.model_dump(exclude={"facts", "left_out"})
        facts = [str(self.facts.get(key, key)) for key in report.facts if key not in self.refused_facts]
        left_out = [str(self.facts.get(key, key)) for key in report.left_out if key not in self.refused_facts]
        return PromptReport(reply=reply, facts=facts, left_out=left_out, **fields)


def _default_to(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value
