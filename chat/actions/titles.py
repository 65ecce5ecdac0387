"""A conversation's title once it is about something: asked of the model, unless the user has given one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from chat.memory.small_talk import is_small_talk
from chat.models import Conversation, Message, MessageState, Role, TitledBy

from . import events, indexing, jobs

# What was said is remembered first: a title can wait.
AFTER_MEMORY = timedelta(seconds=4)
# A conversation that found no title in its first three exchanges keeps its first words.
LAST_TRY = 6  # by `seq`


def ask_for_title(reply: Message) -> None:
    """Have the model find a title after one of the first exchanges; in the caller's transaction."""
    if reply.seq > LAST_TRY or not waiting().filter(pk=reply.conversation_id).exists():
        return
    theirs = Message.objects.filter(conversation=reply.conversation_id, role=Role.USER).shown()
    if not is_small_talk(theirs.values_list("content", flat=True)):
        key = str(reply.conversation_id)
        later = timezone.now() + AFTER_MEMORY
        jobs.enqueue("title", {"conversation": key}, key=f"title:{key}", run_after=later)


def waiting() -> Any:
    """Return the conversations that are still called by their first words and may get a title."""
    return Conversation.objects.listed().filter(titled_by=TitledBy.OPENING)


def beginning(conversation: Conversation) -> list[Message]:
    """Return the first messages that were said and answered, from which a title can be found."""
    rows = Message.objects.filter(conversation=conversation, role__in=(Role.USER, Role.ASSISTANT)).shown()
    said = rows.exclude(state=MessageState.STREAMING).exclude(content="")
    return list(said[:LAST_TRY])


def give_title(conversation_id: Any, title: str) -> bool:
    """Call a conversation what the model has found; False when the user has named it meanwhile."""
    with transaction.atomic():
        found = waiting().filter(pk=conversation_id).only("owner_id").first()
        if found is None:
            return False
        given = waiting().filter(pk=conversation_id)
        if not given.update(title=title, titled_by=TitledBy.MODEL):
            return False
        indexing.titled(conversation_id)
        events.tell(found.owner_id, "rooms")
    return True
