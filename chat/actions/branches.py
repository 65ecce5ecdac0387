"""What takes the place of what was said: a reply written anew, a message sent in other words, a clear.

Nothing is deleted: what was replaced points to what replaced it, and is neither shown nor read by a model.
"""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Max
from django.utils.translation import gettext as _

from chat.models import Conversation, Message, MessageState, Role, TitledBy
from chat.models.message import MessageQuerySet

from . import events, indexing, topics
from .messages import Busy, Refused, append, create, heard, next_place, sendable, title_of, touch

# What prompts and summaries have made of a conversation, as it is before anything was left out.
_AFRESH: dict[str, Any] = {
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
    """Put a new, empty reply in the place of the last one, however it ended; one short transaction."""
    conversation = reply.conversation
    later = Message.objects.filter(conversation=conversation, seq__gt=reply.seq).shown()
    if reply.role != Role.ASSISTANT or later.exists():
        raise Refused(_("Only the last reply of a conversation can be written anew."))
    try:
        with transaction.atomic():
            new = append(conversation, Role.ASSISTANT, "", state=MessageState.STREAMING)
            theirs = Message.objects.filter(pk=reply.pk, role=Role.ASSISTANT)
            if not _replace(conversation, reply.seq, new, theirs):
                raise Refused(_("This reply has been written anew already."))
            touch(conversation)
            events.tell(conversation.owner_id, "messages", conversation=str(conversation.pk))
    except IntegrityError as error:
        raise Busy(_("A reply is still being written. Stop it, or wait for its end.")) from error
    return new


def resend(message: Message, text: str) -> tuple[Message, Message]:
    """Send a user's message in other words: it and all after it make way for a new one and its reply.

    One short transaction; memory reads the new words, and what it learned from the old ones stays.
    """
    text = sendable(text)
    conversation = message.conversation
    try:
        with transaction.atomic():
            place = next_place(conversation)
            asked = create(conversation, place, Role.USER, text, flagged=message.flagged)
            reply = create(conversation, place + 1, Role.ASSISTANT, "", state=MessageState.STREAMING)
            theirs = Message.objects.filter(pk=message.pk, role=Role.USER, replaced_by__isnull=True)
            if not theirs.exists():
                raise Refused(_("Only your own messages can be changed, and each of them once."))
            _replace(conversation, message.seq, asked, Message.objects.all())
            if not Message.objects.filter(conversation=conversation, seq__lt=asked.seq).shown().exists():
                opened = Conversation.objects.filter(pk=conversation.pk, titled_by=TitledBy.OPENING)
                if opened.update(title=title_of(text)):
                    indexing.titled(conversation.pk)
            heard(conversation, asked)
            events.tell(conversation.owner_id, "messages", conversation=str(conversation.pk))
    except IntegrityError as error:
        raise Busy(_("A reply is still being written. Stop it, or wait for its end.")) from error
    return asked, reply


def flag(message: Message, flagged: bool) -> None:
    """Mark a message as important, or not: what is marked stays in the prompt as long as it can."""
    with transaction.atomic():
        Message.objects.filter(pk=message.pk).update(flagged=flagged)
        # What was made ready may leave it out.
        Conversation.objects.filter(pk=message.conversation_id).update(prepared=None)
        events.tell(message.conversation.owner_id, "message", id=str(message.pk))
    message.flagged = flagged


def clear(conversation: Conversation) -> Message | None:
    """Hide all that was said so far from the model; returns the message under which the line stands."""
    with transaction.atomic():
        last = _quiet(conversation).aggregate(n=Max("seq"))["n"]
        if last is None:
            raise Refused(_("There is nothing to clear yet."))
        return _hide(conversation, last)


def unclear(conversation: Conversation) -> Message | None:
    """Let the model see everything again; returns the message under which the line stood."""
    with transaction.atomic():
        _quiet(conversation)
        return _hide(conversation, 0)


def _quiet(conversation: Conversation) -> MessageQuerySet:
    """Return what is shown, where nothing is being written; so it stays until the transaction ends.

    A reply keeps the shape of its prompt, and would bring back what a clear takes away.
    """
    next_place(conversation)
    shown = Message.objects.filter(conversation=conversation).shown()
    if shown.filter(state=MessageState.STREAMING).exists():
        raise Busy(_("A reply is still being written. Stop it, or wait for its end."))
    return shown


def _hide(conversation: Conversation, through: int) -> Message | None:
    before = max(through, Conversation.objects.get(pk=conversation.pk).cleared_through)
    marked = Message.objects.filter(conversation=conversation, seq__lte=before).shown().last()
    Conversation.objects.filter(pk=conversation.pk).update(
        **_AFRESH, cleared_through=through, branch=F("branch") + 1, prepared=None
    )
    if marked is not None:
        events.tell(conversation.owner_id, "message", id=str(marked.pk))
    return marked


def _replace(conversation: Conversation, seq: int, by: Message, among: MessageQuerySet) -> int:
    """Let `by` take the place of what was said from `seq` on; returns how many messages made way."""
    there = among.filter(conversation=conversation, seq__gte=seq, seq__lt=by.seq, replaced_by__isnull=True)
    gone = there.exclude(state=MessageState.STREAMING).update(replaced_by=by)
    topics.unsay(conversation, seq)
    fresh = Conversation.objects.get(pk=conversation.pk)
    # A prompt must hold neither a replaced message nor what was summed up of one.
    reaches = seq <= max(fresh.trimmed_through, fresh.summarised_through)
    Conversation.objects.filter(pk=conversation.pk).update(
        **(_AFRESH if reaches else {}), branch=F("branch") + 1, prepared=None
    )
    return gone
