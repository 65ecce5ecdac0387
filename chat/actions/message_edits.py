"""Replaces messages: regenerate a reply, edit and resend a message, flag, clear the history.

Nothing is deleted: a replaced message links to its replacement, and is neither shown nor used in prompts.
"""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Max

from chat.errors import Busy, Refused
from chat.models import Conversation, Message, MessageState, Role, TitledBy
from chat.models.message import MessageQuerySet

from . import events, indexing, request_outcomes, retraction, topics
from .conversation_titles import make_opening_title
from .messages import (
    append_message,
    create_message,
    note_user_message,
    reserve_seq,
    touch_conversation,
    validate_message,
)
from .owners import lock_memory

# The columns that prompts and summaries derive from a conversation, with their initial values.
_INITIAL_STATE: dict[str, Any] = {
    "trimmed_through": 0,
    "kept": [],
    "cuts": {},
    "summary": "",
    "summarised_through": 0,
    "prompt_summary": "",
    "memory_block": None,
    "memory_block_facts": {},
}


def retry_reply(reply: Message) -> Message:
    """Create an empty reply that replaces the last one, however that ended. One short transaction.

    Raises Refused when it is not the last reply or was replaced already, and Busy while a reply is
    written.
    """
    conversation = reply.conversation
    later = Message.objects.filter(conversation=conversation, seq__gt=reply.seq).current_branch()
    if reply.role != Role.ASSISTANT or later.exists():
        raise Refused("reply-not-last")
    try:
        with transaction.atomic():
            new = append_message(conversation, Role.ASSISTANT, "", state=MessageState.STREAMING)
            target = Message.objects.filter(pk=reply.pk, role=Role.ASSISTANT)
            if not _mark_replaced(conversation, reply.seq, new, target):
                raise Refused("reply-replaced")
            touch_conversation(conversation)
            events.send_on_commit(conversation.owner_id, "messages", conversation=str(conversation.pk))
    except IntegrityError as error:
        raise Busy("another-reply-in-progress") from error
    return new


def resend_message(message: Message, text: str, *, by_program: bool = False) -> tuple[Message, Message]:
    """Replace a user's message and all after it by a new message and an empty reply; returns both.

    Memory extracts from the new message, and takes back what only the replaced ones taught. One short
    transaction; `by_program` as for `send_message`. Raises Refused when the text is empty or too long, or the
    message is not the user's or was replaced already, and Busy while a reply is written.
    """
    text = validate_message(text)
    conversation = message.conversation
    # Both may embed sentences, so they precede the transaction.
    requests, title = request_outcomes.find_live_requests(text), make_opening_title(text)
    try:
        with transaction.atomic():
            lock_memory(conversation.owner_id)
            place = reserve_seq(conversation)
            marks = {"flagged": message.flagged, "by_program": by_program}
            asked = create_message(conversation, place, Role.USER, text, **marks)
            reply = create_message(conversation, place + 1, Role.ASSISTANT, "", state=MessageState.STREAMING)
            target = Message.objects.filter(pk=message.pk, role=Role.USER, replaced_by__isnull=True)
            if not target.exists():
                raise Refused("message-not-editable")
            _mark_replaced(conversation, message.seq, asked, Message.objects.all())
            _name_if_first(conversation, asked, title)
            note_user_message(conversation, asked, requests)
            replaced = Message.objects.filter(replaced_by=asked, role=Role.USER)
            retraction.retract_messages(asked, set(replaced.values_list("pk", flat=True)))
            events.send_on_commit(conversation.owner_id, "messages", conversation=str(conversation.pk))
    except IntegrityError as error:
        raise Busy("another-reply-in-progress") from error
    return asked, reply


def _name_if_first(conversation: Conversation, asked: Message, title: str) -> None:
    """Give a conversation its title from the first message of a branch; a better title stays."""
    if Message.objects.filter(conversation=conversation, seq__lt=asked.seq).current_branch().exists():
        return
    opened = Conversation.objects.filter(pk=conversation.pk, titled_by=TitledBy.OPENING)
    if opened.update(title=title):
        indexing.index_title(conversation.pk)


def flag_message(message: Message, flagged: bool) -> None:
    """Flag a message as important, or not: flagged messages stay in the prompt as long as possible.

    A message that is not important for the user is not important by its score either.
    """
    marks: dict[str, Any] = {"flagged": True} if flagged else {"flagged": False, "importance": 0.0}
    with transaction.atomic():
        Message.objects.filter(pk=message.pk).update(**marks)
        # A prepared compaction may leave it out.
        Conversation.objects.filter(pk=message.conversation_id).update(prepared=None)
        events.send_on_commit(message.conversation.owner_id, "message", id=str(message.pk))
    message.flagged = flagged
    message.importance = marks.get("importance", message.importance)


def clear_conversation(conversation: Conversation) -> Message | None:
    """Hide all messages so far from the model; returns the message below which the page shows the line.

    Raises Refused when there are none, and Busy while a reply is written.
    """
    with transaction.atomic():
        last = _lock_shown_messages(conversation).aggregate(n=Max("seq"))["n"]
        if last is None:
            raise Refused("nothing-to-clear")
        return _set_cleared_through(conversation, last)


def undo_clear(conversation: Conversation) -> Message | None:
    """Show all messages to the model again; returns the message below which the line stood. Raises Busy."""
    with transaction.atomic():
        _lock_shown_messages(conversation)
        return _set_cleared_through(conversation, 0)


def _lock_shown_messages(conversation: Conversation) -> MessageQuerySet:
    """Return the shown messages, locked against new ones; raises Busy while a reply is written.

    A running reply would store the shape of its prompt and undo the clear.
    """
    reserve_seq(conversation)
    shown = Message.objects.filter(conversation=conversation).current_branch()
    if shown.filter(state=MessageState.STREAMING).exists():
        raise Busy("another-reply-in-progress")
    return shown


def _set_cleared_through(conversation: Conversation, through: int) -> Message | None:
    before = max(through, Conversation.objects.get(pk=conversation.pk).cleared_through)
    marked = Message.objects.filter(conversation=conversation, seq__lte=before).current_branch().last()
    Conversation.objects.filter(pk=conversation.pk).update(
        **_INITIAL_STATE, cleared_through=through, branch=F("branch") + 1, prepared=None
    )
    if marked is not None:
        events.send_on_commit(conversation.owner_id, "message", id=str(marked.pk))
    return marked


def _mark_replaced(conversation: Conversation, seq: int, by: Message, among: MessageQuerySet) -> int:
    """Mark the messages from `seq` on as replaced by `by`; returns how many."""
    rows = among.filter(conversation=conversation, seq__gte=seq, seq__lt=by.seq, replaced_by__isnull=True)
    count = rows.exclude(state=MessageState.STREAMING).update(replaced_by=by)
    topics.remove_replaced_messages(conversation, seq)
    fresh = Conversation.objects.get(pk=conversation.pk)
    # No prompt may contain a replaced message or a summary of one.
    is_summarised = seq <= max(fresh.trimmed_through, fresh.summarised_through)
    Conversation.objects.filter(pk=conversation.pk).update(
        **(_INITIAL_STATE if is_summarised else {}), branch=F("branch") + 1, prepared=None
    )
    return count
