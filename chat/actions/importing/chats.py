"""Compares the file's conversations with the local ones and writes the new ones behind the staging batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from chat.actions.owners import default_app
from chat.models import Conversation, Deletion, DeletionState, Message, MessageState, User
from chat.porting.shapes import ImportedConversation, ImportedMessage

from .chat_rows import ChatRows, ImportedChat
from .id_map import derive_id, fetch_columns, split_into_batches
from .report import ImportOptions, ImportReport
from .staging import Heartbeat, keep_batch_alive
from .tombstone_filter import TombstoneFilter

# Messages of one conversation that one transaction writes.
_MESSAGES = 400


class ChatImporter:
    """Takes the file's conversations in portions; without a `batch` it only counts.

    Afterwards `keys` and `messages` map the file's ids to the keys here.
    """

    def __init__(
        self, owner: User, options: ImportOptions, outcome: ImportReport, forgotten: TombstoneFilter
    ) -> None:
        self._owner, self._outcome = owner, outcome
        self.rows = ChatRows(owner, options, forgotten)
        self.batch: Deletion | None = None
        self.pulse: Heartbeat | None = None
        self.keys: dict[UUID, UUID] = {}
        # Local keys that a conversation of the file has taken; and the file's ids of refused conversations.
        self._claimed: set[UUID] = set()
        self.refused: set[UUID] = set()
        self.messages: dict[UUID, UUID] = {}
        self.keys_by_app: dict[UUID | None, list[UUID]] = defaultdict(list)
        self.added: list[UUID] = []
        # Conversations that exist here and continue in the file.
        self.continued: list[ImportedChat] = []

    def take_portion(self, portion: Sequence[ImportedConversation]) -> None:
        """Decide about some conversations, and write the new ones behind the batch, in several steps."""
        if self.pulse is not None:
            self.pulse.beat()
        new = [chat for chat in self._match_local(portion) if self._is_new(chat)]
        for chat in new:
            self.keys_by_app[chat.given.app].append(chat.key)
            self.added.append(chat.key)
        if self.batch is not None and new:
            with transaction.atomic():
                keep_batch_alive(self.batch)
                app = default_app(self._owner)
                Conversation.objects.bulk_create(
                    Conversation(
                        pk=chat.key,
                        owner=self._owner,
                        app=app,
                        deletion=self.batch,
                        **self.rows.build_columns(chat),
                    )
                    for chat in new
                )
                *longer, last = _split_conversations(new)
                self.rows.write(last)
            # The batch hides the conversation, so nobody sees the missing beginning.
            for step in reversed(longer):
                with transaction.atomic():
                    keep_batch_alive(self.batch)
                    self.rows.write(step)

    def report_not_appended(self, chat: ImportedChat) -> None:
        """Correct the report for a conversation that could not be extended because it changed meanwhile."""
        outcome, given = self._outcome, chat.given
        outcome.conversations.changed -= 1
        outcome.messages.added -= len(chat.missing)
        why = _("It changed here while the file was being read. Import the file again.")
        outcome.refuse(outcome.conversations, given.title or _("New chat"), why)

    def _match_local(self, portion: Sequence[ImportedConversation]) -> list[ImportedChat]:
        """Match conversations with the local ones, in a few queries for all of them."""
        owner = self._owner
        wanted = {
            key for c in portion for key in (c.id, derive_id(owner, c.id), derive_id(owner, c.id, "copy"))
        }
        # Rows left by this owner's killed imports do not count; those of other owners keep their ids.
        there = Conversation.objects.exclude(deletion__state=DeletionState.STAGED, owner=owner)
        rows = fetch_columns(there, "pk", wanted, "pk", "owner_id", "deletion_id")
        owners = {key for key, _owner, _deletion in rows}
        mine = {
            key: self._find_obstacle(deletion_id)
            for key, owner_id, deletion_id in rows
            if owner_id == owner.pk
        }
        streaming = Message.objects.filter(state=MessageState.STREAMING)
        for (key,) in fetch_columns(streaming, "conversation", mine, "conversation_id"):
            mine[key] = mine[key] or _("A reply is being written in this chat.")
        local_messages = fetch_local_messages(mine)
        message_ids = [m.id for c in portion for m in c.messages]
        elsewhere = dict(fetch_columns(Message.objects.all(), "pk", message_ids, "pk", "conversation_id"))
        chats = []
        for given in portion:
            key = given.id
            if (derived_key := derive_id(owner, key)) in mine or (key in owners and key not in mine):
                key = derived_key
            chat = self._chat(given, key, mine, local_messages, elsewhere)
            if chat.is_here and chat.missing and not chat.is_continued:
                # Both sides have continued: the file's version becomes a conversation of its own.
                chat = self._chat(given, derive_id(owner, given.id, "copy"), mine, local_messages, elsewhere)
            # Files of other programs may repeat a message in several chats: each id is used here once.
            for message in given.messages:
                if chat.messages[message.id] == message.id:
                    elsewhere.setdefault(message.id, chat.key)
            chats.append(chat)
        return chats

    def _find_obstacle(self, deletion: Any) -> str:
        return _("This chat is being deleted here. Undo that first.") if deletion else ""

    def _chat(
        self,
        given: ImportedConversation,
        key: UUID,
        mine: dict[UUID, str],
        local_messages: dict[UUID, dict[UUID, int]],
        elsewhere: dict[UUID, UUID],
    ) -> ImportedChat:
        keys = {
            m.id: m.id
            if key == given.id and elsewhere.get(m.id, key) == key
            else derive_id(self._owner, m.id, key)
            for m in given.messages
        }
        return ImportedChat(given, key, key in mine, mine.get(key, ""), local_messages.get(key, {}), keys)

    def _is_new(self, chat: ImportedChat) -> bool:
        """Count a conversation, store what to do with it, and return whether it must be written."""
        outcome, given = self._outcome, chat.given
        name = given.title or _("New chat")
        if chat.key in self._claimed:
            # The file contains a copy that was made here and its original.
            outcome.refuse(outcome.conversations, name, _("Another chat in this file is the same chat."))
            self.refused.add(given.id)
            return False
        self._claimed.add(chat.key)
        if not chat.is_here:
            outcome.conversations.added += 1
            outcome.messages.added += len(given.messages)
            self._store_keys(chat)
            return True
        if not chat.missing and not chat.obstacle:
            outcome.conversations.there += 1
            outcome.messages.there += len(given.messages)
            self._store_keys(chat)
            return False
        why = chat.obstacle or (
            "" if chat.is_continued else _("It was continued here and in the file, and so was its copy.")
        )
        if why:
            outcome.refuse(outcome.conversations, name, why)
            self.refused.add(given.id)
            return False
        outcome.conversations.changed += 1
        outcome.messages.added += len(chat.missing)
        outcome.messages.there += len(chat.local)
        self._store_keys(chat)
        self.continued.append(chat)
        return False

    def _store_keys(self, chat: ImportedChat) -> None:
        self.keys[chat.given.id] = chat.key
        self.messages.update((given, key) for given, key in chat.messages.items() if given != key)


def _split_conversations(
    new: Sequence[ImportedChat],
) -> list[list[tuple[ImportedChat, Sequence[ImportedMessage]]]]:
    """Return what each transaction writes: all conversations, or the parts of a single long one."""
    if len(new) > 1:
        return [[(chat, chat.given.messages) for chat in new]]
    (chat,) = new
    return [[(chat, portion)] for portion in split_messages(chat.given.messages)]


def split_messages(messages: Sequence[ImportedMessage]) -> list[list[ImportedMessage]]:
    """Return the messages that each transaction writes for one conversation; at least one, maybe empty, part.

    A message is replaced only by a later one (`chat.porting.ours`), so the last part is written first.
    """
    rows = sorted(messages, key=lambda message: message.seq)
    return list(split_into_batches(rows, _MESSAGES)) or [[]]


def fetch_local_messages(keys: Any) -> dict[UUID, dict[UUID, int]]:
    """Return the messages of these conversations that exist here: key and `seq` by conversation."""
    there: dict[UUID, dict[UUID, int]] = defaultdict(dict)
    for conversation, key, seq in fetch_columns(
        Message.objects.order_by(), "conversation", keys, "conversation_id", "pk", "seq"
    ):
        there[conversation][key] = seq
    return there
