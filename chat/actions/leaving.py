"""A conversation on its way out: what goes with it, how it comes back, and its end (design §5)."""

from __future__ import annotations

from django.db.models import QuerySet

from chat.models import Conversation, Deletion, Fact, MemoryMode, Message

from . import app_memories, events, keeping
from .messages import ask_for_look, end_when_idle


def learned_in(conversation: Conversation) -> QuerySet[Fact]:
    """Return what memory knows from this conversation now."""
    return Fact.objects.filter(owner=conversation.owner_id, source_conversation=conversation).live()


def hide(conversation: Conversation, deletion: Deletion) -> bool:
    """Take a conversation out of sight with a batch; False when it is not there any more. In a transaction.

    Work that waits for it does nothing meanwhile; `bring_back` asks for it again.
    """
    hidden = Conversation.objects.kept().filter(pk=conversation.pk).update(deletion=deletion)
    if hidden:
        events.tell(conversation.owner_id, "rooms", gone=str(conversation.pk))
    return bool(hidden)


def bring_back(deletion: Deletion) -> Conversation | None:
    """Show a batch's conversation again and have memory read what waits there. In a transaction."""
    found = Conversation.objects.select_related("owner").filter(deletion=deletion).first()
    if found is None:
        return None
    Conversation.objects.filter(pk=found.pk).update(deletion=None)
    if found.ended_at is None:
        end_when_idle(found.pk)
    if found.ended_at is not None:
        app_memories.ask_for(found)
    if found.memory_mode == MemoryMode.ON and Message.objects.unread_by_memory(found).exists():
        ask_for_look(found)
    events.tell(found.owner_id, "rooms")
    return found


def remove(deletion: Deletion) -> None:
    """Delete a batch's conversation for good. In a transaction."""
    for conversation in Conversation.objects.filter(deletion=deletion):
        keeping.remove(conversation)
