"""What apps remember of conversations: stored, kept at ten, corrected, and on its way out (seed 003)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.memory.app_choice import Choice, merged
from chat.memory.app_memories import SAID_TO_APP
from chat.models import (
    MAX_CONTENT,
    App,
    AppMemory,
    AppMemoryEvent,
    AppMemoryEventKind,
    Conversation,
    Deletion,
    MemoryMode,
    Message,
)

from . import events, jobs, tombstones
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
        now, kind = timezone.now(), AppMemoryEventKind.UPDATE
        if own is None:
            kind = AppMemoryEventKind.ADD
            if not _can_make_room(fresh.app_id):
                return None
            if (absorbed := _make_room(fresh, choice, now)) is not None:
                # Its own part is told: what comes after it gets a memory of its own.
                _told_through(fresh, metadata["through"])
                return absorbed
            own = AppMemory(owner_id=fresh.owner_id, app_id=fresh.app_id, source_conversation=fresh)
        elif related := own.metadata.get("related_conversations"):
            # It has absorbed what others said, and goes on telling it.
            text, metadata = merged(own.content, text), {**metadata, "related_conversations": related}
        own.content, own.metadata, own.updated_at = text, metadata, now
        own.save()
        _record(own, kind=kind)
        events.tell(fresh.owner_id, "facts")
    return own


def _told_through(conversation: Conversation, through: int) -> None:
    Conversation.objects.filter(pk=conversation.pk).update(app_memory_after=through)


def _can_make_room(app_id: UUID) -> bool:
    """Return whether a new memory finds a place: those on their way out keep theirs."""
    return AppMemory.objects.filter(app=app_id, deletion__isnull=False).count() < MOST


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
        _record(target, kind=AppMemoryEventKind.ABSORB)
        events.tell(conversation.owner_id, "facts")
        return target
    if target is not None and AppMemory.objects.filter(app=conversation.app_id).count() >= MOST:
        _let_go([target])
    _evict(conversation.app_id)
    return None


def _evict(app_id: UUID) -> None:
    """Let the oldest go until there is a place; what the owner has put in their own words stays longest."""
    over = AppMemory.objects.filter(app=app_id).count() - MOST + 1
    if over > 0:
        oldest = AppMemory.objects.filter(app=app_id).live().order_by("edited", "updated_at", "pk")
        _let_go(list(oldest[:over]))


def _let_go(memories: Sequence[AppMemory]) -> None:
    AppMemory.objects.filter(pk__in=[memory.pk for memory in memories]).delete()
    _record(*memories, kind=AppMemoryEventKind.EVICT)


def _record(*memories: AppMemory, kind: AppMemoryEventKind) -> None:
    AppMemoryEvent.objects.bulk_create(
        AppMemoryEvent(owner_id=memory.owner_id, app_id=memory.app_id, kind=kind) for memory in memories
    )


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
        _leave_blocks([memory.app_id])
        events.tell(memory.owner_id, "facts")
    memory.content, memory.edited = text, True


def move_along(conversation: Conversation, app: App) -> None:
    """Take what is remembered of a conversation into another app. In a transaction, memory held.

    Where that is full, its oldest makes way. What is on its way out stays where it was pressed. Raises
    Refused where all places are held by what is on its way out.
    """
    own = AppMemory.objects.filter(source_conversation=conversation).exclude(app=app).first()
    if own is None or own.deletion_id is not None:
        return
    if not _can_make_room(app.pk):
        raise Refused(_("This app is forgetting what it remembers. Try again in a few seconds."))
    _leave_blocks([own.app_id])
    _evict(app.pk)
    AppMemory.objects.filter(pk=own.pk).update(app=app)
    events.tell(conversation.owner_id, "facts")


def of_conversation(conversation: Conversation) -> list[AppMemory]:
    """Return what is remembered of a conversation, also where another's memory has absorbed it."""
    key, rows = str(conversation.pk), AppMemory.objects.filter(owner=conversation.owner_id).live()
    return [
        memory
        for memory in rows
        if memory.source_conversation_id == conversation.pk
        or key in memory.metadata.get("related_conversations", [])
    ]


def hide(memories: QuerySet[AppMemory], deletion: Deletion) -> int:
    """Take memories out of sight with a batch; returns how many. In a transaction."""
    chosen = list(memories.filter(deletion__isnull=True))
    AppMemory.objects.filter(pk__in=[m.pk for m in chosen]).update(deletion=deletion)
    _leave_blocks({m.app_id for m in chosen})
    if chosen:
        events.tell(deletion.owner_id, "facts")
    return len(chosen)


def bring_back(deletion: Deletion) -> int:
    """Let a batch's memories return as they were; returns how many. In a transaction."""
    back = AppMemory.objects.filter(deletion=deletion)
    _leave_blocks(set(back.values_list("app", flat=True)))
    return back.update(deletion=None)


def remove(deletion: Deletion) -> None:
    """Forget a batch's memories for good, also where the model has read them. In a transaction."""
    gone = list(AppMemory.objects.filter(deletion=deletion))
    if not gone:
        return
    tombstones.bury_told(deletion.owner, gone, deletion.pressed_at)
    told = {m.source_conversation_id for m in gone if m.source_conversation_id}
    told.update(UUID(key) for m in gone for key in m.metadata.get("related_conversations", []))
    if deletion.app_id is not None:
        told.update(Conversation.objects.filter(app=deletion.app_id).values_list("pk", flat=True))
    _tell_no_more(deletion, told)
    _leave_blocks({m.app_id for m in gone})
    # Also what was read in chats that have ended or moved since.
    read = Conversation.objects.for_owner(deletion.owner).values_list("pk", flat=True)
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


def _leave_blocks(apps: Collection[UUID]) -> None:
    """Have the prompts of these apps that tell memories built anew: the next one tells what is known now.

    All of them, for a prompt may hold an earlier wording of a memory that has been written anew since.
    """
    mine = Conversation.objects.filter(app__in=apps)
    mine.filter(memory_block__contains=SAID_TO_APP).update(memory_block=None, memory_block_facts={})
    # Made in advance, so made again: cheaper than to look into each.
    mine.filter(prepared__isnull=False).update(prepared=None)
