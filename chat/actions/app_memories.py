"""What apps remember of conversations: stored, kept at ten, corrected, and on its way out (seed 003)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.memory.app_choice import Choice
from chat.memory.lines import one_line
from chat.models import MAX_CONTENT, App, AppMemory, Conversation, Deletion, MemoryMode, Message

from . import events, jobs
from .facts import OnItsWayOut
from .messages import Refused
from .owners import hold_memory

MOST = 10  # seed 003, "10 records per app limit"
# Memory looks at the last messages first.
_AFTER_END = timedelta(seconds=2)


def ask_for(conversation: Conversation) -> None:
    """Have a conversation that has ended remembered by its app; in the caller's transaction."""
    if conversation.memory_mode == MemoryMode.ON and not conversation.temporary:
        jobs.enqueue(
            "app_memory",
            {"conversation": str(conversation.pk)},
            key=f"app_memory:{conversation.pk}",
            run_after=timezone.now() + _AFTER_END,
        )


def room_for(conversation: Conversation) -> list[AppMemory]:
    """Return the memories among which one must make way for this conversation's; none while there is room.

    Those on their way out keep their places, for they may come back.
    """
    others = AppMemory.objects.filter(app=conversation.app_id).exclude(source_conversation=conversation)
    return [] if others.count() < MOST else list(others.live())


def store(
    conversation: Conversation, text: str, metadata: dict[str, Any], choice: Choice | None = None
) -> AppMemory | None:
    """Keep what was written about a conversation; its earlier memory gives way to it.

    Where the app is full, `choice` says which memory makes way or absorbs it; without one, or where that has
    changed meanwhile, the oldest goes. Returns None when the conversation has gone on, gone, or changed since
    it was read, or its memory is in the owner's own words.
    """
    with transaction.atomic():
        hold_memory(conversation.owner_id)
        fresh = _as_read(conversation)
        own = AppMemory.objects.filter(source_conversation=conversation).first()
        if fresh is None or (own is not None and (own.edited or own.deletion_id)):
            return None
        now = timezone.now()
        if own is None:
            held = AppMemory.objects.filter(app=fresh.app_id).count() >= MOST
            if held and (absorbed := _make_room(fresh, choice, now)) is not None:
                return absorbed
            if held and AppMemory.objects.filter(app=fresh.app_id).count() >= MOST:
                return None  # all ten are on their way out, and may come back
            own = AppMemory(owner_id=fresh.owner_id, app_id=fresh.app_id, source_conversation=fresh)
        own.content, own.metadata, own.updated_at = text, metadata, now
        own.save()
        events.tell(fresh.owner_id, "facts")
    return own


def _as_read(conversation: Conversation) -> Conversation | None:
    """Return the conversation held for the transaction, if nothing that was read of it has changed."""
    there = Conversation.objects.select_for_update().kept()
    return there.filter(
        pk=conversation.pk,
        app=conversation.app_id,
        branch=conversation.branch,
        app_memory_after=conversation.app_memory_after,
        memory_mode=MemoryMode.ON,
        ended_at=conversation.ended_at,
    ).first()


def _make_room(conversation: Conversation, choice: Choice | None, now: Any) -> AppMemory | None:
    """Carry out a choice, or let the oldest go; returns the memory that has absorbed the new one."""
    live = AppMemory.objects.filter(app=conversation.app_id).live()
    target = live.filter(pk=choice.target, content=choice.was).first() if choice else None
    if target is not None and choice is not None and choice.text:
        related = target.metadata.get("related_conversations", [])
        target.metadata["related_conversations"] = [*related, str(conversation.pk)]
        target.content, target.updated_at = choice.text, now
        target.save(update_fields=["content", "metadata", "updated_at"])
        events.tell(conversation.owner_id, "facts")
        return target
    # What the owner has put in their own words stays longest.
    target = target or live.order_by("edited", "updated_at", "pk").first()
    if target is not None:
        target.delete()
    return None


def edit(memory: AppMemory, text: str) -> None:
    """Put a memory in the owner's own words; open conversations hear of them with their next prompt.

    Raises Refused where it is empty, too long, or on its way out.
    """
    text = " ".join(text.split())
    if not text:
        raise Refused(_("Write something first."))
    if len(text) > MAX_CONTENT:
        raise Refused(_("At most %(most)d characters, please.") % {"most": MAX_CONTENT})
    with transaction.atomic():
        hold_memory(memory.owner_id)
        there = AppMemory.objects.live().filter(pk=memory.pk)
        if not there.update(content=text, edited=True, updated_at=timezone.now()):
            raise OnItsWayOut(_("This memory is being forgotten. Undo that first."))
        _leave_blocks([memory])
        events.tell(memory.owner_id, "facts")
    memory.content, memory.edited = text, True


def move_along(conversation: Conversation, app: App) -> None:
    """Take what is remembered of a conversation into another app. In a transaction, memory held.

    Where that is full, it is written anew at once, so that the model chooses what makes way; what the owner
    has put in their own words takes the place of the oldest.
    """
    own = AppMemory.objects.filter(source_conversation=conversation).exclude(app=app).first()
    if own is None:
        return
    _leave_blocks([own])
    full = AppMemory.objects.filter(app=app).count() >= MOST
    if full and not (own.edited or own.deletion_id):
        own.delete()
        ask_for(conversation)
    else:
        oldest = AppMemory.objects.filter(app=app).live().order_by("edited", "updated_at", "pk").first()
        if full and oldest is not None:
            oldest.delete()
        AppMemory.objects.filter(pk=own.pk).update(app=app)
    events.tell(conversation.owner_id, "facts")


def hide(memories: QuerySet[AppMemory], deletion: Deletion) -> int:
    """Take memories out of sight with a batch; returns how many. In a transaction."""
    chosen = list(memories.filter(deletion__isnull=True))
    AppMemory.objects.filter(pk__in=[m.pk for m in chosen]).update(deletion=deletion)
    _leave_blocks(chosen)
    if chosen:
        events.tell(deletion.owner_id, "facts")
    return len(chosen)


def bring_back(deletion: Deletion) -> int:
    """Let a batch's memories return as they were; returns how many. In a transaction."""
    return AppMemory.objects.filter(deletion=deletion).update(deletion=None)


def remove(deletion: Deletion) -> None:
    """Forget a batch's memories for good, also where the model has read them. In a transaction."""
    gone = list(AppMemory.objects.filter(deletion=deletion))
    if not gone:
        return
    told = {m.source_conversation_id for m in gone if m.source_conversation_id}
    told.update(UUID(key) for m in gone for key in m.metadata.get("related_conversations", []))
    _tell_no_more(deletion, told)
    _leave_blocks(gone)
    apps = {memory.app_id for memory in gone}
    read = Conversation.objects.filter(app__in=apps, ended_at__isnull=True).values_list("pk", flat=True)
    AppMemory.objects.filter(pk__in=[m.pk for m in gone]).delete()
    jobs.enqueue("free_caches", {"conversations": sorted(map(str, read))})
    events.tell(deletion.owner_id, "facts")


def _tell_no_more(deletion: Deletion, keys: Collection[UUID]) -> None:
    """Have what was said in these conversations before the press never be remembered by their app again."""
    said = Message.objects.filter(conversation__in=keys, created_at__lte=deletion.pressed_at)
    last = dict(said.order_by().values_list("conversation").annotate(Max("seq")))
    told = list(Conversation.objects.for_owner(deletion.owner).filter(pk__in=last))
    for conversation in told:
        conversation.app_memory_after = max(conversation.app_memory_after, last[conversation.pk])
    Conversation.objects.bulk_update(told, ["app_memory_after"])


def _leave_blocks(memories: list[AppMemory]) -> None:
    """Have the prompts that hold these memories built anew: the very next one says them no more."""
    if not memories:
        return
    mine = Conversation.objects.filter(app__in={m.app_id for m in memories})
    said = reduce(or_, (Q(memory_block__contains=one_line(m.content)) for m in memories))
    mine.filter(said).update(memory_block=None, memory_block_facts={})
    # Made in advance, so made again: cheaper than to look into each.
    mine.filter(prepared__isnull=False).update(prepared=None)
