"""Schedules the jobs of a conversation: extraction, its end when idle, removal of temporary ones."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from chat.models import Conversation, Job, MemoryMode, Message

from . import jobs
from .owners import settings_of

# This many unread messages are extracted at once, without waiting for a pause.
BACKLOG = 5


def _enqueue_extraction(conversation: Conversation, pause: timedelta, priority: int = jobs.USUAL) -> None:
    jobs.enqueue(
        "extract",
        {"conversation": str(conversation.pk)},
        key=f"extract:{conversation.pk}",
        owner_id=conversation.owner_id,
        run_after=timezone.now() + pause,
        priority=priority,
    )


def flush_extraction(conversation_id: Any, *, urgent: bool = False, patient: bool = True) -> int:
    """Queue the extraction of all unread messages without waiting for a pause; returns how many.

    `urgent` runs it before other conversations'. Unless `patient`, a conversation whose row is locked is
    skipped.
    """
    with transaction.atomic():
        held = Conversation.objects.select_for_update(skip_locked=not patient)
        conversation = held.filter(pk=conversation_id).first()
        if conversation is None:
            return 0
        waiting = list(Message.objects.not_extracted(conversation).values_list("seq", flat=True))
        if conversation.memory_mode != MemoryMode.ON or not waiting:
            return 0
        Conversation.objects.filter(pk=conversation_id).update(flushed_through=waiting[-1])
        _enqueue_extraction(conversation, timedelta(), jobs.URGENT if urgent else jobs.USUAL)
    return len(waiting)


def queue_extraction(conversation: Conversation) -> None:
    """Queue the extraction of a conversation's unread messages; in the caller's transaction.

    It is due after the pause that the owner chose; at once while `BACKLOG` messages are unread, or when
    it was requested at once before.
    """
    backlog = Message.objects.backlog(conversation.owner)
    if backlog.count() >= BACKLOG:
        for key in backlog.order_by().values_list("conversation", flat=True).distinct():
            # A conversation that another transaction is writing to is skipped: waiting for its lock could
            # deadlock.
            flush_extraction(key, patient=key == conversation.pk)
        return
    fresh = Conversation.objects.only("flushed_through", "extracted_through", "imported_through").get(
        pk=conversation.pk
    )
    pause = 0 if fresh.has_flushed_messages else settings_of(conversation.owner_id).look_after
    _enqueue_extraction(conversation, timedelta(seconds=pause))


# A conversation ends after this long without a new message.
IDLE_END = timedelta(minutes=10)


def schedule_idle_end(conversation_id: Any) -> None:
    """Queue the end of a conversation `IDLE_END` from now; later messages postpone it."""
    jobs.enqueue(
        "end_idle",
        {"conversation": str(conversation_id)},
        key=f"end_idle:{conversation_id}",
        run_after=timezone.now() + IDLE_END,
    )


def schedule_discard(conversation_id: Any, when: datetime) -> None:
    """Schedule the deletion of a temporary conversation; replaces an earlier schedule."""
    key = str(conversation_id)
    jobs.enqueue("discard", {"conversations": [key]}, key=f"discard:{key}", run_after=when)


# How long a temporary conversation stays after its page has last asked by polling. Browsers let a hidden page
# ask once a minute only (static/js/polling.js).
POLLED_KEPT = timedelta(seconds=90)
# A schedule is moved once it is so much earlier than it would be now, so that few requests write.
_POLLED_STEP, _IDLE_STEP = timedelta(seconds=10), timedelta(minutes=1)


def postpone_ends_while_polled(conversation: Conversation) -> None:
    """Postpone the end of a conversation, and the deletion of a temporary one, since its page asked just now.

    No socket says that such a page is open. It takes one query, and writes every ten seconds at most.
    """
    now = timezone.now()
    key = str(conversation.pk)
    due = dict(
        Job.objects.filter(dedupe_key__in=(f"end_idle:{key}", f"discard:{key}")).values_list(
            "kind", "run_after"
        )
    )
    if conversation.temporary and due.get("discard", now) < now + POLLED_KEPT - _POLLED_STEP:
        schedule_discard(conversation.pk, now + POLLED_KEPT)
    if "end_idle" in due and due["end_idle"] < now + IDLE_END - _IDLE_STEP:
        schedule_idle_end(conversation.pk)
