"""Where imported facts come from, as far as that is here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from chat.models import Conversation, Message
from chat.porting.shapes import FactIn

from .chats import Chats
from .keys import found


class Sources:
    """The conversations and messages here that an import's facts name, in a few queries for all."""

    def __init__(self, owner: Any, facts: Sequence[FactIn], chats: Chats) -> None:
        self._chats = chats
        messages = {key for f in facts for key in (f.source_message, *(e.source_message for e in f.history))}
        wanted = {self._message(key) for key in messages if key is not None}
        mine = Message.objects.for_owner(owner)
        self._messages = {pk for (pk,) in found(mine, "pk", wanted, "pk")}
        chosen = {key for fact in facts if (key := fact.source_conversation) is not None}
        chosen_keys = {chats.keys.get(key, key) for key in chosen}
        rows = Conversation.objects.for_owner(owner)
        self._conversations = {pk for (pk,) in found(rows, "pk", chosen_keys, "pk")}

    def conversation(self, key: UUID | None) -> UUID | None:
        """Return the key of the conversation here, if there is one."""
        ours = self._chats.keys.get(key, key) if key else None
        return ours if ours in self._conversations else None

    def message(self, key: UUID | None) -> UUID | None:
        """Return the key of the message here, if there is one."""
        ours = self._message(key) if key else None
        return ours if ours in self._messages else None

    def _message(self, key: UUID) -> UUID:
        return self._chats.messages.get(key, key)
