"""Conversations that come in: which are new and which have gone on; the new ones are written at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from chat.actions.owners import default_app
from chat.models import Conversation, Deletion, DeletionState, Message, MessageState
from chat.porting.shapes import ConversationIn, MessageIn

from .chat_rows import Chat, ChatRows
from .forgotten import Forgotten
from .keys import derived, found, in_portions
from .outcome import Options, Outcome
from .staging import Pulse, hold

# Of one conversation so many are written at once.
_MESSAGES = 400


class Chats:
    """Takes conversations portion by portion; without a `batch` it only counts.

    `keys` and `messages` tell afterwards under which keys they are here.
    """

    def __init__(self, owner: Any, options: Options, outcome: Outcome, forgotten: Forgotten) -> None:
        self._owner, self._outcome = owner, outcome
        self.rows = ChatRows(owner, options, forgotten)
        self.batch: Deletion | None = None
        self.pulse: Pulse | None = None
        self.keys: dict[UUID, UUID] = {}
        # Keys here that are some conversation's of the file, and the file's of those that are not taken.
        self._claimed: set[UUID] = set()
        self.refused: set[UUID] = set()
        self.messages: dict[UUID, UUID] = {}
        self.in_app: dict[UUID | None, list[UUID]] = defaultdict(list)
        self.added: list[UUID] = []
        # Those of here that the file knows further.
        self.forward: list[Chat] = []

    def take(self, portion: Sequence[ConversationIn]) -> None:
        """Decide about some conversations; the new ones are written behind the batch, a little at a time."""
        if self.pulse is not None:
            self.pulse.beat()
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
                        pk=chat.key,
                        owner=self._owner,
                        app=app,
                        deletion=self.batch,
                        **self.rows.columns(chat),
                    )
                    for chat in new
                )
                *longer, last = _steps(new)
                self.rows.write(last)
            # Nobody sees the gap before them.
            for step in reversed(longer):
                with transaction.atomic():
                    hold(self.batch)
                    self.rows.write(step)

    def not_gone_on(self, chat: Chat) -> None:
        """Note of one that was to go on that it did not."""
        outcome, given = self._outcome, chat.given
        outcome.conversations.changed -= 1
        outcome.messages.added -= len(chat.missing)
        why = _("It changed here while the file was read. Import the file once more.")
        outcome.refuse(outcome.conversations, given.title or _("New chat"), why)

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
        places = local(mine)
        said = [m.id for c in portion for m in c.messages]
        elsewhere = dict(found(Message.objects.all(), "pk", said, "pk", "conversation_id"))
        chats = []
        for given in portion:
            key = given.id
            if (stand_in := derived(owner, key)) in mine or (key in owners and key not in mine):
                key = stand_in
            chat = self._chat(given, key, mine, places, elsewhere)
            if chat.is_here and chat.missing and not chat.goes_on:
                # It went on here and there: the file's becomes a chat of its own.
                chat = self._chat(given, derived(owner, given.id, "copy"), mine, places, elsewhere)
            # In other programs' files a chat may begin with another's messages: each id is one of here once.
            for message in given.messages:
                if chat.messages[message.id] == message.id:
                    elsewhere.setdefault(message.id, chat.key)
            chats.append(chat)
        return chats

    def _hindrance(self, deletion: Any) -> str:
        return _("This chat is being deleted here. Undo that first.") if deletion else ""

    def _chat(
        self,
        given: ConversationIn,
        key: UUID,
        mine: dict[UUID, str],
        places: dict[UUID, dict[UUID, int]],
        elsewhere: dict[UUID, UUID],
    ) -> Chat:
        keys = {
            m.id: m.id
            if key == given.id and elsewhere.get(m.id, key) == key
            else derived(self._owner, m.id, key)
            for m in given.messages
        }
        return Chat(given, key, key in mine, mine.get(key, ""), places.get(key, {}), keys)

    def _is_new(self, chat: Chat) -> bool:
        """Count a conversation, remember what is to be done with it, and tell whether it is to be written."""
        outcome, given = self._outcome, chat.given
        name = given.title or _("New chat")
        if chat.key in self._claimed:
            # A copy that was made here once, and its original, in one file.
            outcome.refuse(outcome.conversations, name, _("Another chat of this file is the same one here."))
            self.refused.add(given.id)
            return False
        self._claimed.add(chat.key)
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
        self.forward.append(chat)
        return False

    def _know(self, chat: Chat) -> None:
        self.keys[chat.given.id] = chat.key
        self.messages.update((given, key) for given, key in chat.messages.items() if given != key)


def _steps(new: Sequence[Chat]) -> list[list[tuple[Chat, Sequence[MessageIn]]]]:
    """Return what is written of these conversations at once: of a long one so many messages."""
    if len(new) > 1:
        return [[(chat, chat.given.messages) for chat in new]]
    (chat,) = new
    return [[(chat, portion)] for portion in steps_of(chat.given.messages)]


def steps_of(messages: Sequence[MessageIn]) -> list[list[MessageIn]]:
    """Return what is written of one conversation at once, at least once something, be it nothing.

    What replaces a message comes later than it (`chat.porting.ours`), so the last of them is written first.
    """
    rows = sorted(messages, key=lambda message: message.seq)
    return list(in_portions(rows, _MESSAGES)) or [[]]


def local(keys: Any) -> dict[UUID, dict[UUID, int]]:
    """Return the messages that are here of these conversations, each with its place."""
    there: dict[UUID, dict[UUID, int]] = defaultdict(dict)
    for conversation, key, seq in found(
        Message.objects.order_by(), "conversation", keys, "conversation_id", "pk", "seq"
    ):
        there[conversation][key] = seq
    return there
