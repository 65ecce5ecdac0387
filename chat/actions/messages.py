"""Everything that writes messages: sending, and the life of a reply; see branches for what replaces them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from chat.memory import told
from chat.models import App, Conversation, MemoryMode, Message, MessageState, Role

from . import events, indexing, jobs, titles, topics
from .owners import default_app, settings_of

MAX_CHARACTERS = 200_000
# Kept in English, for it is read in another language one day; its page translates it.
CLOSED = gettext_noop("memoryapp was closed while this was being written.")
# A backlog of so many messages outranks idleness (design §5, "When"; the seed's "every 5").
BACKLOG = 5
# Without a message and without an open page for this long, a conversation has ended (design §5).
IDLE_END = timedelta(minutes=10)


class Refused(Exception):
    """What was asked cannot be done; the text is a sentence for the user, and nothing was changed."""


class Busy(Refused):
    """A reply is still being written in this conversation."""


def send_message(
    owner: Any,
    text: str,
    conversation: Conversation | None = None,
    *,
    app: App | None = None,
    temporary: bool = False,
) -> tuple[Message, Message]:
    """Save the user's message and an empty reply for it, and return both.

    Without a conversation one begins, in `app` or else in the owner's first. A `temporary` one has no memory,
    stands in no list and is gone once its page is closed. Raises Refused for an app that has been put away.
    """
    text = sendable(text)
    try:
        with transaction.atomic():
            conversation = conversation or _new_conversation(
                owner, app or default_app(owner), text, temporary
            )
            place = next_place(conversation)
            asked = create(conversation, place, Role.USER, text)
            reply = create(conversation, place + 1, Role.ASSISTANT, "", state=MessageState.STREAMING)
            _name_after(conversation, text)
            heard(conversation, asked)
            events.tell(owner.pk, "messages", conversation=str(conversation.pk))
    except IntegrityError as error:
        raise Busy(_("The reply is still being written. Stop it, or wait for its end.")) from error
    return asked, reply


def sendable(text: str) -> str:
    """Return a message as it is sent, or refuse it."""
    text = text.replace("\x00", "").strip()
    if not text:
        raise Refused(_("Write something first."))
    return keepable(text)


def keepable(text: str) -> str:
    """Return what another program exchanged as it can be kept; raises Refused where it is too long."""
    text = text.replace("\x00", "")
    if len(text) > MAX_CHARACTERS:
        sentence = _("This message is longer than %s characters. Send it in parts.")
        raise Refused(sentence % number_format(MAX_CHARACTERS, force_grouping=True))
    return text


def add_message(conversation: Conversation, role: str, text: str, **fields: Any) -> Message:
    """Save a message that somebody else's program exchanged; no reply is begun.

    `fields` are `tool_calls`, `tool_call_id`, `name` and `created_at` (aware). Memory reads what the user
    said here as it does on the page.
    """
    text = keepable(text)
    with transaction.atomic():
        message = append(conversation, Role(role), text, **fields)
        if message.role == Role.USER and text.strip():
            _name_after(conversation, text)
            heard(conversation, message)
        else:
            topics.join(message)
            touch(conversation)
        events.tell(conversation.owner_id, "messages", conversation=str(conversation.pk))
    return message


def heard(conversation: Conversation, asked: Message) -> None:
    """Open the conversation again and let memory know of a message; in the caller's transaction."""
    touch(conversation, ended_at=None)
    end_when_idle(conversation.pk)
    if conversation.memory_mode != MemoryMode.ON:
        # Not even later, when memory is on again: it was off when this was said.
        Conversation.objects.filter(pk=conversation.pk).update(extracted_through=asked.seq)
    elif told.asks(asked.content):
        # Asked for, so it waits for no idleness (design §5, "When").
        flush(conversation.pk, urgent=True)
    else:
        ask_for_look(conversation)


def ask_for_look(conversation: Conversation) -> None:
    """Have memory look at this conversation's new messages, however often it is asked.

    Due once it has been quiet for as long as the owner chose; at once where messages wait that no idleness
    is needed for. In the caller's transaction.
    """
    backlog = Message.objects.backlog(conversation.owner)
    if backlog.count() >= BACKLOG:
        for key in backlog.order_by().values_list("conversation", flat=True).distinct():
            # Whoever writes there sees to it, and might be waiting for this conversation.
            flush(key, patient=key == conversation.pk)
        return
    fresh = Conversation.objects.only("flushed_through", "extracted_through", "imported_through").get(
        pk=conversation.pk
    )
    pause = 0 if fresh.is_flushed else settings_of(conversation.owner_id).look_after
    _look_at(fresh.pk, timedelta(seconds=pause))


def flush(conversation_id: Any, *, urgent: bool = False, patient: bool = True) -> int:
    """Have memory read all that waits here now, though the model is busy; returns how many messages wait.

    With `urgent` before what waits in other conversations. Who is not `patient` leaves a conversation alone
    in which something is being written at this moment.
    """
    with transaction.atomic():
        held = Conversation.objects.select_for_update(skip_locked=not patient)
        conversation = held.filter(pk=conversation_id).first()
        if conversation is None:
            return 0
        waiting = list(Message.objects.unread_by_memory(conversation).values_list("seq", flat=True))
        if conversation.memory_mode != MemoryMode.ON or not waiting:
            return 0
        Conversation.objects.filter(pk=conversation_id).update(flushed_through=waiting[-1])
        _look_at(conversation_id, timedelta(), jobs.URGENT if urgent else jobs.USUAL)
    return len(waiting)


def _look_at(conversation_id: Any, pause: timedelta, priority: int = jobs.USUAL) -> None:
    jobs.enqueue(
        "extract",
        {"conversation": str(conversation_id)},
        key=f"extract:{conversation_id}",
        run_after=timezone.now() + pause,
        priority=priority,
    )


def end_when_idle(conversation_id: Any) -> None:
    """Have the conversation end `IDLE_END` from now, unless something is said or looked at until then."""
    jobs.enqueue(
        "end_idle",
        {"conversation": str(conversation_id)},
        key=f"end_idle:{conversation_id}",
        run_after=timezone.now() + IDLE_END,
    )


def checkpoint(reply_id: Any, text: str) -> None:
    """Save how far a reply has come, so that a killed process loses at most a second of it."""
    Message.objects.filter(pk=reply_id, state=MessageState.STREAMING).update(content=text)


def finish_reply(reply: Message, text: str, state: MessageState, failure: str = "") -> None:
    """Save a reply's last text and how it ended; memory looks once it has been quiet since."""
    with transaction.atomic():
        # The conversation's row first, as whoever deletes it takes them.
        touch(reply.conversation)
        ended = {"content": text, "state": state, "failure": failure[:300]}
        if Message.objects.filter(pk=reply.pk).update(**ended):
            indexing.said([Message(pk=reply.pk, conversation=reply.conversation, role=reply.role, **ended)])
        topics.join(reply)
        if Message.objects.unread_by_memory(reply.conversation).exists():
            ask_for_look(reply.conversation)
        titles.ask_for_title(reply)


def stop_stale_replies() -> int:
    """Mark replies that a killed process left behind as stopped; run before any reply starts."""
    with transaction.atomic():
        stale = list(Message.objects.filter(state=MessageState.STREAMING).select_related("conversation"))
        for reply in stale:
            reply.state, reply.failure = MessageState.STOPPED, CLOSED
        Message.objects.bulk_update(stale, ["state", "failure"])
        indexing.said(stale)
    return len(stale)


def title_of(text: str) -> str:
    """Return what a conversation is called by its first message, until it has a better title."""
    first_line = next(line for line in text.splitlines() if line.strip())
    return first_line if len(first_line) <= 60 else first_line[:59].rsplit(" ", 1)[0] + "…"


def not_put_away(app: App) -> None:
    """Refuse an app that is not in use any more; it may have been put away since its page was opened."""
    if not App.objects.filter(pk=app.pk).active().exists():
        raise Refused(_("“%(app)s” has been put away. Bring it back first.") % {"app": app})


def _new_conversation(owner: Any, app: App, text: str, temporary: bool) -> Conversation:
    not_put_away(app)
    if temporary:
        off = {"temporary": True, "memory_mode": MemoryMode.OFF}
        return Conversation.objects.create(owner=owner, app=app, **off)
    made = Conversation.objects.create(owner=owner, app=app, title=title_of(text))
    indexing.titled(made.pk)
    return made


def _name_after(conversation: Conversation, text: str) -> None:
    """Call a conversation that a program began without a title by what is said first; in a transaction."""
    untitled = Conversation.objects.filter(pk=conversation.pk, title="", temporary=False)
    if untitled.update(title=title_of(text)):
        indexing.titled(conversation.pk)


def append(conversation: Conversation, role: Role, content: str, **fields: Any) -> Message:
    """Put a message at the end of its conversation; in the caller's transaction."""
    return create(conversation, next_place(conversation), role, content, **fields)


def next_place(conversation: Conversation) -> int:
    """Return the `seq` of the next message, which nobody else takes before this transaction ends."""
    # The lock orders two tabs on PostgreSQL; SQLite's BEGIN IMMEDIATE has done so already.
    there = Conversation.objects.select_for_update().kept().only("pk").filter(pk=conversation.pk)
    if there.first() is None:
        raise Refused(_("This chat has been deleted."))
    last = Message.objects.filter(conversation=conversation).aggregate(n=Max("seq"))["n"] or 0
    return int(last) + 1


def create(conversation: Conversation, seq: int, role: Role, content: str, **fields: Any) -> Message:
    """Put a message in a place that `next_place` gave; in the same transaction."""
    made = Message.objects.create(conversation=conversation, seq=seq, role=role, content=content, **fields)
    indexing.said([made])
    return made


def touch(conversation: Conversation, **also: Any) -> None:
    """Note that something was said; `also` are columns that change with it."""
    Conversation.objects.filter(pk=conversation.pk).update(updated_at=timezone.now(), **also)
