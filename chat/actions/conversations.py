"""What happens to a conversation as a whole: what memory may do in it, its end, and its end by itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.models import Conversation, Job, MemoryMode, Message, Role

from . import app_memories, events, jobs, keeping
from .messages import IDLE_END, Refused, end_when_idle, flush, title_of

# Pages whose server was away come back within 15 s (static/js/socket.js).
PAGES_RETURN = timedelta(seconds=20)


def end(conversation: Conversation) -> bool:
    """Mark a conversation as ended and have memory read what waits; False when it had ended already.

    A reply in the making goes on; the next message opens the conversation again. A temporary one is deleted.
    """
    if conversation.temporary:
        return discard(conversation.pk)
    with transaction.atomic():
        ended = Conversation.objects.filter(pk=conversation.pk, ended_at__isnull=True).update(
            ended_at=timezone.now()
        )
        if ended:
            flush(conversation.pk)
            app_memories.ask_for(conversation)
            events.tell(conversation.owner_id, "chat", conversation=str(conversation.pk))
    return bool(ended)


def set_memory_mode(conversation: Conversation, mode: str) -> None:
    """Let memory learn and be used here (on), only be used (read-only), or neither (off).

    What is said while it is not on is never read, not even later; what waited when it was turned off is
    neither.
    """
    if mode not in MemoryMode.values:
        raise Refused(_("Choose on, read-only or off."))
    if conversation.temporary:
        raise Refused(_("Memory stays off in a temporary chat."))
    with transaction.atomic():
        fresh = Conversation.objects.select_for_update().get(pk=conversation.pk)
        if fresh.memory_mode == mode:
            return
        if MemoryMode.OFF in (mode, fresh.memory_mode):
            # What the prompt begins with depends on it.
            fresh.memory_block, fresh.memory_block_facts, fresh.prepared = None, {}, None
        last = Message.objects.filter(conversation=fresh).aggregate(n=Max("seq"))["n"] or 0
        if fresh.memory_mode != MemoryMode.ON:
            # Nor does its app ever tell of it.
            fresh.app_memory_after = max(last, fresh.app_memory_after)
        fresh.memory_mode = mode
        if mode != MemoryMode.ON:
            fresh.extracted_through = max(last, fresh.extracted_through)
        fresh.save(
            update_fields=[
                *("memory_mode", "extracted_through", "memory_block", "memory_block_facts", "prepared"),
                "app_memory_after",
            ]
        )
        events.tell(fresh.owner_id, "chat", conversation=str(fresh.pk))


def keep(conversation: Conversation) -> bool:
    """Make a temporary conversation one that stays; False where it stays already.

    Memory reads what is said in it from now on, and nothing of before.
    """
    with transaction.atomic():
        fresh = Conversation.objects.select_for_update().get(pk=conversation.pk)
        if not fresh.temporary:
            return False
        first = Message.objects.filter(conversation=fresh, role=Role.USER).exclude(content="").first()
        fresh.temporary, fresh.title = False, title_of(first.content) if first else ""
        fresh.save(update_fields=["temporary", "title"])
        set_memory_mode(fresh, MemoryMode.ON)
        events.tell(fresh.owner_id, "rooms")
    return True


def end_if_idle(conversation_id: Any, now: datetime) -> datetime | None:
    """End a conversation once nothing was said for `IDLE_END`; else return when that will be."""
    conversation = Conversation.objects.kept().select_related("owner").filter(pk=conversation_id).first()
    if conversation is None or conversation.ended_at is not None:
        return None
    if (idle_since := conversation.updated_at + IDLE_END) > now:
        return idle_since
    end(conversation)
    return None


def discard(conversation_id: Any) -> bool:
    """Delete a temporary conversation and what the model has read of it; False when it is gone already."""
    with transaction.atomic():
        found = Conversation.objects.filter(pk=conversation_id, temporary=True).first()
        if found is None:
            return False
        keeping.remove(found)
        events.tell(found.owner_id, "rooms", gone=str(found.pk))
    return True


def discard_at(conversation_id: Any, when: datetime) -> None:
    """Have a temporary conversation deleted then, and no sooner, though it was asked for before."""
    key = str(conversation_id)
    jobs.enqueue("discard", {"conversations": [key]}, key=f"discard:{key}", run_after=when)


def discard_when_left(conversation_id: Any) -> None:
    """Put off the end of a temporary conversation that somebody has open; that they leave it asks anew."""
    if Conversation.objects.filter(pk=conversation_id, temporary=True).exists():
        discard_at(conversation_id, timezone.now() + IDLE_END)


def left(conversation_id: Any) -> None:
    """The last page of a conversation was closed: from now on it may end by itself, a temporary one soon."""
    if Conversation.objects.filter(pk=conversation_id, temporary=True).exists():
        discard_at(conversation_id, timezone.now() + PAGES_RETURN)
    if Conversation.objects.kept().filter(pk=conversation_id, ended_at__isnull=True).exists():
        end_when_idle(conversation_id)


def await_pages(now: datetime) -> None:
    """Let pages that are still open come back before their conversation ends; when the process starts."""
    soon = now + PAGES_RETURN
    for pk in list(Conversation.objects.filter(temporary=True).values_list("pk", flat=True)):
        discard_at(pk, soon)
    Job.objects.filter(kind="end_idle", run_after__lt=soon).update(run_after=soon)
