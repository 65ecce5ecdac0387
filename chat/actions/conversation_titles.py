"""Titles of conversations: their first words, and the better title that the model writes later."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from chat.memory.kept_out import leave_out_sentences
from chat.memory.memory_requests import keeps_out_next_message
from chat.memory.small_talk import is_small_talk
from chat.models import Conversation, Message, MessageState, Role, TitledBy

from . import events, indexing, jobs

# Characters of a first message from which its title is made.
_TITLE_SOURCE = 2000
# Extraction runs first: a title can wait.
TITLE_DELAY = timedelta(seconds=4)
# A conversation without a title after three exchanges keeps its first words.
LAST_TITLE_TRY = 6  # `seq`


def queue_title(reply: Message) -> None:
    """Queue a title after one of the first exchanges; in the caller's transaction."""
    if reply.seq > LAST_TITLE_TRY or not find_untitled().filter(pk=reply.conversation_id).exists():
        return
    user_messages = Message.objects.filter(
        conversation=reply.conversation_id, role=Role.USER
    ).current_branch()
    if not is_small_talk(user_messages.values_list("content", flat=True)):
        key = str(reply.conversation_id)
        later = timezone.now() + TITLE_DELAY
        owner_id = reply.conversation.owner_id
        jobs.enqueue("title", {"conversation": key}, key=f"title:{key}", run_after=later, owner_id=owner_id)


def find_untitled() -> Any:
    """Return the conversations that still have their first words as a title."""
    return Conversation.objects.listed().filter(titled_by=TitledBy.OPENING)


def list_opening_messages(conversation: Conversation) -> list[Message]:
    """Return the first finished messages, from which the model finds a title."""
    rows = Message.objects.filter(
        conversation=conversation, role__in=(Role.USER, Role.ASSISTANT)
    ).current_branch()
    finished = rows.exclude(state=MessageState.STREAMING).exclude(content="")
    return list(finished[:LAST_TITLE_TRY])


def set_model_title(conversation_id: Any, title: str) -> bool:
    """Set the model's title; returns False when the user has set one meanwhile."""
    with transaction.atomic():
        found = find_untitled().filter(pk=conversation_id).only("owner_id").first()
        if found is None:
            return False
        given = find_untitled().filter(pk=conversation_id)
        if not given.update(title=title, titled_by=TitledBy.MODEL):
            return False
        indexing.index_title(conversation_id)
        events.send_on_commit(found.owner_id, "conversations")
    return True


def make_opening_title(text: str) -> str:
    """Return a title made of the first message, until there is a better one.

    Sentences that it asks not to save or to forget are left out; "" if no other is left. May embed sentences.
    """
    said = leave_out_sentences(text[:_TITLE_SOURCE])
    first_line = next((line for line in said.splitlines() if line.strip()), "")
    return first_line if len(first_line) <= 60 else first_line[:59].rsplit(" ", 1)[0] + "…"


def find_title(conversation: Conversation | None, text: str) -> str:
    """Return the title that a new message gives its conversation, "" if it has one or the message gives none.

    May embed sentences: call it outside transactions.
    """
    if conversation is not None and (conversation.title or conversation.temporary):
        return ""
    earlier = None
    if conversation is not None:
        said = Message.objects.filter(conversation=conversation, role=Role.USER).current_branch()
        earlier = said.values_list("content", flat=True).last()
    return "" if earlier and keeps_out_next_message(earlier) else make_opening_title(text)
