"""Messages: send, add, and the states of a reply; `message_edits` replaces messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max, Q
from django.utils import timezone

from chat.context.importance import score_importance
from chat.errors import Busy, Refused
from chat.memory.memory_requests import MemoryRequest, are_urgent
from chat.models import App, Conversation, MemoryMode, Message, MessageState, Role, User

from . import conversations, events, indexing, message_windows, processes, request_outcomes, topics
from .conversation_jobs import flush_extraction, queue_extraction, schedule_idle_end
from .conversation_titles import find_title, queue_title
from .message_order import find_order
from .owners import default_app

MAX_CHARACTERS = 200_000
# Stored in English and translated where it is shown.
PROCESS_CLOSED = "stopped-by-shutdown"
_EVERY_REPLY = Q()


def send_message(
    owner: User,
    text: str,
    conversation: Conversation | None = None,
    *,
    app: App | None = None,
    temporary: bool = False,
    by_program: bool = False,
) -> tuple[Message, Message]:
    """Save the user's message and an empty reply, and return both; one transaction.

    Without a conversation, one is created in `app`, or else in the owner's first app. A `temporary` one has
    memory off, appears in no list and is deleted after its page is closed. `by_program` says that nobody sees
    what is asked below the reply. Raises Refused when the text is
    empty or longer than `MAX_CHARACTERS`, the app is archived or the conversation deleted, and Busy while a
    reply is being written in the conversation.
    """
    text = validate_message(text)
    # Both may embed sentences, so they precede the transaction.
    requests = request_outcomes.find_live_requests(text)
    title = "" if temporary else find_title(conversation, text)
    try:
        with transaction.atomic():
            conversation = conversation or _new_conversation(
                owner, app or default_app(owner), title, temporary
            )
            place = reserve_seq(conversation)
            asked = create_message(conversation, place, Role.USER, text, by_program=by_program)
            reply = create_message(conversation, place + 1, Role.ASSISTANT, "", state=MessageState.STREAMING)
            _name_after(conversation, title)
            note_user_message(conversation, asked, requests)
            events.send_on_commit(owner.pk, "messages", conversation=str(conversation.pk))
    except IntegrityError as error:
        raise Busy("reply-in-progress") from error
    return asked, reply


def validate_message(text: str) -> str:
    """Return a message's text as it is sent. Raises Refused when it is empty or too long."""
    text = text.replace("\x00", "").strip()
    if not text:
        raise Refused("text-empty")
    return validate_length(text)


def validate_length(text: str) -> str:
    """Return a text as it can be stored. Raises Refused when it is longer than `MAX_CHARACTERS`."""
    text = text.replace("\x00", "")
    if len(text) > MAX_CHARACTERS:
        raise Refused("message-too-long", most=MAX_CHARACTERS)
    return text


def add_message(conversation: Conversation, role: str, text: str, **fields: Any) -> Message:
    """Save a message that another program exchanged; starts no reply. Raises Refused when it is too long.

    `fields` are `tool_calls`, `tool_call_id`, `name`, `by_program` and `created_at` (aware). Memory extracts
    from the user's messages as from those sent on the page.
    """
    text = validate_length(text)
    is_users = role == Role.USER and bool(text.strip())
    # Both may embed sentences, so they precede the transaction.
    requests = request_outcomes.find_live_requests(text) if is_users else []
    title = find_title(conversation, text) if is_users else ""
    with transaction.atomic():
        message = append_message(conversation, Role(role), text, **fields)
        if is_users:
            _name_after(conversation, title)
            note_user_message(conversation, message, requests)
        else:
            topics.assign_reply(message)
            touch_conversation(conversation)
        message_windows.queue_windows()
        events.send_on_commit(conversation.owner_id, "messages", conversation=str(conversation.pk))
    return message


def note_user_message(conversation: Conversation, asked: Message, requests: Sequence[MemoryRequest]) -> None:
    """Reopen the conversation and schedule the extraction of a user message; in the caller's transaction.

    `requests` are what the message asks of memory.
    """
    touch_conversation(conversation, ended_at=None)
    schedule_idle_end(conversation.pk)
    if conversation.memory_mode != MemoryMode.ON:
        # Not even later, when memory is on again: it was off when this was sent.
        Conversation.objects.filter(pk=conversation.pk).update(extracted_through=asked.seq)
        request_outcomes.record_memory_off(asked, requests)
    elif are_urgent(requests):
        # The user asks something of memory, so extraction does not wait for a pause.
        flush_extraction(conversation.pk, urgent=True)
    else:
        queue_extraction(conversation)


def save_checkpoint(reply_id: Any, text: str) -> bool:
    """Save a running reply's text so far, so that a killed process loses at most a second of it.

    Returns False where nobody wants the rest: the reply is deleted, or another process has ended it.
    """
    return bool(Message.objects.filter(pk=reply_id, state=MessageState.STREAMING).update(content=text))


def finish_reply(reply: Message, text: str, state: MessageState, failure: str = "") -> None:
    """Save a reply's final text and state, its reasoning and `cut_off`, and queue extraction and title.

    What another process has ended, because it took this one for dead, stays as it is.
    """
    with transaction.atomic():
        # Lock the conversation's row first, in the same order as a deletion.
        touch_conversation(reply.conversation)
        importance = score_message(Role.ASSISTANT, text)
        ended = {"content": text, "state": state, "failure": failure[:300], "importance": importance}
        written = {name: getattr(reply, name) for name in ("reasoning", "reasoning_seconds", "cut_off")}
        if Message.objects.filter(pk=reply.pk, state=MessageState.STREAMING).update(**ended, **written):
            indexing.index_messages(
                [Message(pk=reply.pk, conversation=reply.conversation, role=reply.role, **ended)]
            )
        topics.assign_reply(reply)
        message_windows.queue_windows()
        if Message.objects.not_extracted(reply.conversation).exists():
            queue_extraction(reply.conversation)
        queue_title(reply)


def stop_stale_replies(held: Q = _EVERY_REPLY) -> int:
    """Mark the unfinished replies that `held` chooses as stopped, and tell open pages; returns how many.

    Their processes are dead. Each is stopped once, in a transaction of its own: a lock on several
    conversations could deadlock with a deletion.
    """
    stale = Message.objects.filter(held, state=MessageState.STREAMING)
    return sum(stop_reply(key) for key in list(stale.values_list("pk", flat=True)))


def count_unfinished(owner: User) -> int:
    """Return how many replies of an owner are written or wait, in all processes."""
    return Message.objects.for_owner(owner).filter(state=MessageState.STREAMING).count()


def stop_reply(key: Any, reason: str = PROCESS_CLOSED) -> bool:
    """End an unfinished reply with its saved text; False where it has ended. A process that still writes it
    stops at its next checkpoint.
    """
    with transaction.atomic():
        found = Message.objects.filter(pk=key, state=MessageState.STREAMING)
        # The conversation's row first, as in `finish_reply` and in deletions.
        conversations_of_it = Conversation.objects.filter(pk__in=found.values("conversation"))
        conversation = conversations_of_it.select_for_update().first()
        reply = found.select_for_update().first()
        if conversation is None or reply is None:
            return False
        reply.conversation = conversation
        reply.state, reply.failure = MessageState.STOPPED, reason
        reply.save(update_fields=["state", "failure"])
        indexing.index_messages([reply])
        events.send_on_commit(conversation.owner_id, "message", id=str(reply.pk))
    return True


def _new_conversation(owner: User, app: App, title: str, temporary: bool) -> Conversation:
    if temporary:
        return conversations.create_conversation(owner, app=app, temporary=True, memory_mode=MemoryMode.OFF)
    return conversations.create_conversation(owner, app=app, title=title)


def _name_after(conversation: Conversation, title: str) -> None:
    """Title an untitled conversation after a message; in a transaction.

    A program created it without a title, or no message so far may be shown in one.
    """
    untitled = Conversation.objects.filter(pk=conversation.pk, title="", temporary=False)
    if title and untitled.update(title=title):
        indexing.index_title(conversation.pk)


def append_message(conversation: Conversation, role: Role, content: str, **fields: Any) -> Message:
    """Append a message to its conversation; in the caller's transaction. Raises as `reserve_seq` does."""
    return create_message(conversation, reserve_seq(conversation), role, content, **fields)


def reserve_seq(conversation: Conversation) -> int:
    """Return the `seq` of the next message, reserved until the transaction ends.

    Raises Refused when the conversation is deleted.
    """
    # The row lock orders concurrent writers on PostgreSQL; on SQLite BEGIN IMMEDIATE does so already.
    there = Conversation.objects.select_for_update().not_deleted().only("pk").filter(pk=conversation.pk)
    if there.first() is None:
        raise Refused("conversation-deleted")
    last = Message.objects.filter(conversation=conversation).aggregate(n=Max("seq"))["n"] or 0
    return int(last) + 1


def create_message(conversation: Conversation, seq: int, role: Role, content: str, **fields: Any) -> Message:
    """Save a message with a `seq` from `reserve_seq`; in the same transaction."""
    fields["importance"] = score_message(role, content)
    if fields.get("state") == MessageState.STREAMING:
        fields["process"] = processes.get_current()
    if role == Role.USER and "created_at" not in fields:
        fields["created_at"] = now = timezone.now()
        fields["ordered_at"] = find_order(conversation.owner_id, now)
    made = Message.objects.create(conversation=conversation, seq=seq, role=role, content=content, **fields)
    indexing.index_messages([made])
    return made


def score_message(role: str, content: str) -> float | None:
    """Return the importance that is stored with a message; None without text and for tools and systems."""
    if not content or role not in (Role.USER, Role.ASSISTANT):
        return None
    return score_importance(content, is_reply=role == Role.ASSISTANT)


def touch_conversation(conversation: Conversation, **also: Any) -> None:
    """Update the conversation's `updated_at`, and the columns in `also`."""
    Conversation.objects.filter(pk=conversation.pk).update(updated_at=timezone.now(), **also)
