"""Conversations that come in: which are new, which have gone on, and writing them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from chat.actions import indexing
from chat.actions.messages import CLOSED
from chat.actions.owners import default_app, redacts
from chat.memory.secrets import redact
from chat.models import (
    Conversation,
    Deletion,
    DeletionState,
    Message,
    MessageState,
    PromptReport,
    TitledBy,
    Topic,
)
from chat.porting.shapes import ConversationIn, MessageIn

from .forgotten import Forgotten
from .keys import derived, found, insert
from .outcome import Options, Outcome
from .staging import hold

_CHOSEN = ("system_prompt", "strategy", "metadata", "pinned", "memory_mode", "created_at")
_WATERMARKS = {"extracted_through", "app_memory_after", "cleared_through"}
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

    @property
    def missing(self) -> list[MessageIn]:
        """The messages that are not here yet."""
        return [m for m in self.given.messages if self.messages[m.id] not in self.local]

    @property
    def goes_on(self) -> bool:
        """Whether what is here is how the file's conversation begins, so that the rest can follow."""
        there = {self.messages[m.id]: m.seq for m in self.given.messages}
        return all(there.get(key) == seq for key, seq in self.local.items())


class Chats:
    """Takes conversations portion by portion; without a `batch` it only counts.

    `keys` and `messages` tell afterwards under which keys they are here.
    """

    def __init__(self, owner: Any, options: Options, outcome: Outcome, forgotten: Forgotten) -> None:
        self._owner, self._options, self._outcome = owner, options, outcome
        self._forgotten = forgotten
        self._redacts = redacts(owner.pk)
        self.batch: Deletion | None = None
        # Keys of facts that are not taken because they were forgotten: reports do not tell of them either.
        self.untold: frozenset[UUID] = frozenset()
        # Under which keys the file's facts are here.
        self.facts: dict[UUID, UUID] = {}
        self.keys: dict[UUID, UUID] = {}
        # Those of the file that are not taken.
        self.refused: set[UUID] = set()
        self.messages: dict[UUID, UUID] = {}
        self.in_app: dict[UUID | None, list[UUID]] = defaultdict(list)
        self.added: list[UUID] = []
        self._forward: list[Chat] = []

    def take(self, portion: Sequence[ConversationIn]) -> None:
        """Decide about some conversations; the new ones are written behind the batch, in one transaction."""
        new = [chat for chat in self._found(portion) if self._is_new(chat)]
        for chat in new:
            self.in_app[chat.given.app].append(chat.key)
            self.added.append(chat.key)
        if self.batch is not None and new:
            with transaction.atomic():
                hold(self.batch)
                app = default_app(self._owner)
                Conversation.objects.bulk_create(
                    Conversation(
                        pk=chat.key, owner=self._owner, app=app, deletion=self.batch, **self._columns(chat)
                    )
                    for chat in new
                )
                self._write([(chat, chat.given.messages) for chat in new])

    def go_on(self) -> None:
        """Let the conversations here that the file knows further go on. In the caller's transaction."""
        for chat in self._forward:
            here = Conversation.objects.select_for_update().filter(pk=chat.key, deletion=None).first()
            if here is None or self._local([chat.key])[chat.key] != chat.local:
                continue
            given = self._columns(chat)
            # What was chosen here stays so; what memory has come through here it has come through.
            for name in _CHOSEN:
                del given[name]
            if here.titled_by == TitledBy.USER:
                del given["title"], given["titled_by"]
            for name, value in given.items():
                furthest = max(getattr(here, name), value) if name in _WATERMARKS else value
                setattr(here, name, furthest)
            # What was built of it tells of less.
            here.memory_block, here.memory_block_facts, here.prepared = None, {}, None
            here.branch += 1
            here.save()
            self._write([(chat, chat.missing)])
            indexing.titled(here.pk)
            self._mark(chat)

    # -- deciding --------------------------------------------------------------------------------------

    def _found(self, portion: Sequence[ConversationIn]) -> list[Chat]:
        """Return the conversations with what is here of each, in a few queries for all."""
        owner = self._owner
        wanted = {key for c in portion for key in (c.id, derived(owner, c.id), derived(owner, c.id, "copy"))}
        # What a killed import of this owner has left is as good as gone; another's keeps its ids.
        there = Conversation.objects.exclude(deletion__state=DeletionState.STAGED, owner=owner)
        rows = found(there, "pk", wanted, "pk", "owner_id", "deletion_id")
        owners = {key for key, _owner, _deletion in rows}
        mine = {key: self._hindrance(leaving) for key, owner_id, leaving in rows if owner_id == owner.pk}
        writing = Message.objects.filter(state=MessageState.STREAMING)
        for (key,) in found(writing, "conversation", mine, "conversation_id"):
            mine[key] = mine[key] or _("A reply is being written in this chat.")
        local = self._local(mine)
        said = [m.id for c in portion for m in c.messages]
        elsewhere = dict(found(Message.objects.all(), "pk", said, "pk", "conversation_id"))
        chats = []
        for given in portion:
            key = given.id
            if (stand_in := derived(owner, key)) in mine or (key in owners and key not in mine):
                key = stand_in
            chat = self._chat(given, key, mine, local, elsewhere)
            if chat.is_here and chat.missing and not chat.goes_on:
                # It went on here and there: the file's becomes a chat of its own.
                chat = self._chat(given, derived(owner, given.id, "copy"), mine, local, elsewhere)
            chats.append(chat)
        return chats

    def _hindrance(self, deletion: Any) -> str:
        return _("This chat is being deleted here. Undo that first.") if deletion else ""

    def _local(self, keys: Any) -> dict[UUID, dict[UUID, int]]:
        local: dict[UUID, dict[UUID, int]] = defaultdict(dict)
        for conversation, key, seq in found(
            Message.objects.order_by(), "conversation", keys, "conversation_id", "pk", "seq"
        ):
            local[conversation][key] = seq
        return local

    def _chat(
        self,
        given: ConversationIn,
        key: UUID,
        mine: dict[UUID, str],
        local: dict[UUID, dict[UUID, int]],
        elsewhere: dict[UUID, UUID],
    ) -> Chat:
        keys = {
            m.id: m.id
            if key == given.id and elsewhere.get(m.id, key) == key
            else derived(self._owner, m.id, key)
            for m in given.messages
        }
        return Chat(given, key, key in mine, mine.get(key, ""), local.get(key, {}), keys)

    def _is_new(self, chat: Chat) -> bool:
        """Count a conversation, remember what is to be done with it, and tell whether it is to be written."""
        outcome, given = self._outcome, chat.given
        name = given.title or _("New chat")
        if not chat.is_here:
            outcome.conversations.added += 1
            outcome.messages.added += len(given.messages)
            self._know(chat)
            return True
        if not chat.missing and not chat.hindrance:
            outcome.conversations.there += 1
            outcome.messages.there += len(given.messages)
            self._know(chat)
            return False
        why = chat.hindrance or ("" if chat.goes_on else _("It went on here and there, and there once more."))
        if why:
            outcome.refuse(outcome.conversations, name, why)
            self.refused.add(given.id)
            return False
        outcome.conversations.changed += 1
        outcome.messages.added += len(chat.missing)
        outcome.messages.there += len(chat.local)
        self._know(chat)
        self._forward.append(chat)
        return False

    def _know(self, chat: Chat) -> None:
        self.keys[chat.given.id] = chat.key
        self.messages.update((given, key) for given, key in chat.messages.items() if given != key)

    # -- writing ---------------------------------------------------------------------------------------

    def _columns(self, chat: Chat) -> dict[str, Any]:
        """Return a conversation's columns, without the secrets that its summaries may tell."""
        given = chat.given
        last = max((m.seq for m in given.messages), default=0)
        columns = {name: getattr(given, name) for name in ConversationIn.model_fields if name not in _LEFT}
        columns["extracted_through"] = _or(given.extracted_through, last)
        columns["app_memory_after"] = _or(given.app_memory_after, last)
        columns["imported_through"] = 0 if self._options.learn else last
        for name in ("summary", "prompt_summary"):
            columns[name] = self._safe(columns[name])
        return columns

    def _safe(self, text: str) -> str:
        return redact(text) if self._redacts and text else text

    def _write(self, chats: Sequence[tuple[Chat, Sequence[MessageIn]]]) -> None:
        """Write these messages of each conversation, with the topics that are not here yet."""
        wanted = [(chat, topic) for chat, _rows in chats for topic in chat.given.topics]
        ids = [topic.id for _chat, topic in wanted]
        elsewhere = dict(found(Topic.objects.all(), "pk", ids, "pk", "conversation_id"))
        topics: dict[tuple[UUID, UUID], UUID] = {}
        fresh = []
        for chat, topic in wanted:
            own = chat.key == chat.given.id and elsewhere.get(topic.id, chat.key) == chat.key
            key = topic.id if own else derived(self._owner, topic.id, chat.key)
            topics[chat.key, topic.id] = key
            fields = topic.model_dump(exclude={"id"})
            fields["summary"] = self._safe(topic.summary)
            fresh.append(Topic(pk=key, conversation_id=chat.key, **fields))
        there = {pk for (pk,) in found(Topic.objects.all(), "pk", [t.pk for t in fresh], "pk")}
        Topic.objects.bulk_create(topic for topic in fresh if topic.pk not in there)
        reports: list[PromptReport] = []
        rows: list[Message] = []
        for chat, messages in chats:
            for given in messages:
                rows.append(self._row(chat, given, topics))
                if given.report is not None:
                    reports.append(self._report(rows[-1], given))
        insert(Message, rows)
        insert(PromptReport, reports)

    def _row(self, chat: Chat, given: MessageIn, topics: dict[tuple[UUID, UUID], UUID]) -> Message:
        # Whoever wrote it does so no more.
        halted = given.state == MessageState.STREAMING
        return Message(
            pk=chat.messages[given.id],
            conversation_id=chat.key,
            seq=given.seq,
            role=given.role,
            content=given.content,
            state=MessageState.STOPPED if halted else given.state,
            failure=CLOSED if halted else given.failure,
            note=self._forgotten.cleaned(given.note, None if given.undated else given.created_at),
            flagged=given.flagged,
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

    def _mark(self, chat: Chat) -> None:
        """Let the messages that were here already be what the file says of them: replaced, marked."""
        rows = {m.pk: m for m in Message.objects.filter(conversation=chat.key, pk__in=list(chat.local))}
        for given in chat.given.messages:
            if (row := rows.get(chat.messages[given.id])) is not None:
                row.flagged = given.flagged
                row.replaced_by_id = chat.messages[given.replaced_by] if given.replaced_by else None
        Message.objects.bulk_update(rows.values(), ["flagged", "replaced_by"], batch_size=500)


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value
