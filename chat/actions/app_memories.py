"""App memories: short texts in which an app remembers its conversations; at most ten an app."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from chat.errors import PendingDeletion, Refused
from chat.memory.app_memories import PROMPT_SECTION_START
from chat.memory.app_memory_eviction import AppMemoryChange, merge_memories
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
    User,
)

from . import events, jobs, tombstones
from .owners import lock_memory

logger = logging.getLogger(__name__)

MAX_PER_APP = 10
_LOG_LINES = {
    AppMemoryEventKind.ADD: "app memory created",
    AppMemoryEventKind.UPDATE: "app memory written anew",
    AppMemoryEventKind.ABSORB: "app memories compacted: one absorbed the new one",
    AppMemoryEventKind.EVICT: "app memories compacted: one deleted",
}
# Extraction of the last messages runs first.
_AFTER_END = timedelta(seconds=2)


def queue_app_memory(conversation: Conversation) -> None:
    """Queue the app memory of a conversation that has ended; in the caller's transaction.

    Does nothing for a temporary conversation, or one whose memory is not on.
    """
    if conversation.memory_mode == MemoryMode.ON and not conversation.temporary:
        jobs.enqueue(
            "app_memory",
            {"conversation": str(conversation.pk)},
            key=f"app_memory:{conversation.pk}",
            owner_id=conversation.owner_id,
            run_after=timezone.now() + _AFTER_END,
        )


def list_eviction_candidates(conversation: Conversation) -> list[AppMemory]:
    """Return the live memories of which one must make room for this conversation's; empty if none must.

    Memories pending deletion keep their places, because an undo may restore them.
    """
    others = AppMemory.objects.filter(app=conversation.app_id).exclude(source_conversation=conversation)
    return [] if others.count() < MAX_PER_APP else list(others.live())


def store_app_memory(
    conversation: Conversation, text: str, metadata: dict[str, Any], choice: AppMemoryChange | None = None
) -> AppMemory | None:
    """Store the memory that the model wrote about a conversation; it replaces the conversation's earlier one.

    When the app is full, `choice` names the memory to delete or to merge the new one into; without a
    choice that still applies, the oldest is deleted. Returns the stored or merged memory. Returns None
    when the conversation changed or was deleted since it was read, when the owner edited its memory, or
    when all places are held by memories pending deletion. One transaction.
    """
    with transaction.atomic():
        lock_memory(conversation.owner_id)
        fresh = _lock_if_unchanged(conversation)
        own = AppMemory.objects.filter(source_conversation=conversation).first()
        if fresh is None or (own is not None and (own.edited or own.deletion_id)):
            return None
        now, kind = timezone.now(), AppMemoryEventKind.UPDATE
        if own is None:
            kind = AppMemoryEventKind.ADD
            if not _has_free_place(fresh.app_id):
                return None
            if (merged_into := _make_room(fresh, choice, now)) is not None:
                # The conversation's messages so far are covered; later ones get a memory of their own.
                _set_watermark(fresh, metadata["through"])
                return merged_into
            own = AppMemory(owner_id=fresh.owner_id, app_id=fresh.app_id, source_conversation=fresh)
        elif related := own.metadata.get("related_conversations"):
            # It has absorbed the memories of other conversations and keeps their content.
            text, metadata = merge_memories(own.content, text), {**metadata, "related_conversations": related}
        own.content, own.metadata, own.updated_at = text, metadata, now
        own.save()
        _record_events(own, kind=kind)
        events.send_on_commit(fresh.owner_id, "facts")
    return own


def _set_watermark(conversation: Conversation, through: int) -> None:
    Conversation.objects.filter(pk=conversation.pk).update(app_memory_after=through)


def _has_free_place(app_id: UUID) -> bool:
    """Return whether a new memory can get a place; memories pending deletion keep theirs."""
    return AppMemory.objects.filter(app=app_id, deletion__isnull=False).count() < MAX_PER_APP


def _lock_if_unchanged(conversation: Conversation) -> Conversation | None:
    """Return the conversation, row-locked, or None when it changed since it was read."""
    matching = Conversation.objects.select_for_update().not_deleted()
    return matching.filter(
        pk=conversation.pk,
        app=conversation.app_id,
        branch=conversation.branch,
        app_memory_after=conversation.app_memory_after,
        memory_mode=MemoryMode.ON,
        ended_at=conversation.ended_at,
    ).first()


def _make_room(conversation: Conversation, choice: AppMemoryChange | None, now: Any) -> AppMemory | None:
    """Apply a choice or evict the oldest memory; returns the memory that absorbed the new text, if any."""
    live = AppMemory.objects.filter(app=conversation.app_id).live()
    target = live.filter(pk=choice.target, content=choice.old_text).first() if choice else None
    if target is not None and choice is not None and choice.text:
        related = target.metadata.get("related_conversations", [])
        target.metadata["related_conversations"] = [*related, str(conversation.pk)]
        target.content, target.updated_at = choice.text, now
        target.save(update_fields=["content", "metadata", "updated_at"])
        _record_events(target, kind=AppMemoryEventKind.ABSORB)
        events.send_on_commit(conversation.owner_id, "facts")
        return target
    if target is not None and AppMemory.objects.filter(app=conversation.app_id).count() >= MAX_PER_APP:
        _delete_evicted([target])
    _evict(conversation.app_id)
    return None


def _evict(app_id: UUID) -> None:
    """Evict the oldest memories until one place is free; memories that the owner edited go last."""
    over = AppMemory.objects.filter(app=app_id).count() - MAX_PER_APP + 1
    if over > 0:
        oldest = AppMemory.objects.filter(app=app_id).live().order_by("edited", "updated_at", "pk")
        _delete_evicted(list(oldest[:over]))


def _delete_evicted(memories: Sequence[AppMemory]) -> None:
    AppMemory.objects.filter(pk__in=[memory.pk for memory in memories]).delete()
    _record_events(*memories, kind=AppMemoryEventKind.EVICT)


def _record_events(*memories: AppMemory, kind: AppMemoryEventKind) -> None:
    """Save an event for each memory, and log the ids of the memory after the commit.

    Call it inside a transaction.
    """
    AppMemoryEvent.objects.bulk_create(
        AppMemoryEvent(owner_id=memory.owner_id, app_id=memory.app_id, kind=kind) for memory in memories
    )
    lines = [{"app": str(memory.app_id), "app_memory": str(memory.pk)} for memory in memories]
    for ids, memory in zip(lines, memories, strict=True):
        if memory.source_conversation_id is not None:
            ids["conversation"] = str(memory.source_conversation_id)

    def log() -> None:
        for ids in lines:
            logger.info(_LOG_LINES[kind], extra=ids)

    transaction.on_commit(log)


def edit_app_memory(memory: AppMemory, text: str) -> None:
    """Replace a memory's text with the owner's; open conversations get it with their next prompt.

    Raises Refused when the text is empty or longer than `MAX_CONTENT`, and PendingDeletion when the
    memory is being deleted.
    """
    text = " ".join(text.split())
    if not text:
        raise Refused("text-empty")
    if len(text) > MAX_CONTENT:
        raise Refused("app-memory-too-long", most=MAX_CONTENT)
    with transaction.atomic():
        lock_memory(memory.owner_id)
        matching = AppMemory.objects.live().filter(pk=memory.pk)
        if not matching.update(content=text, edited=True, updated_at=timezone.now()):
            raise PendingDeletion("fact-pending-deletion")
        _reset_memory_blocks([memory.app_id])
        events.send_on_commit(memory.owner_id, "facts")
    memory.content, memory.edited = text, True


def move_with_conversation(conversation: Conversation, app: App) -> None:
    """Move a conversation's memory to another app. In a transaction, after `lock_memory`.

    A full app evicts its oldest memory. A memory pending deletion stays in its old app. Raises Refused
    when all places of the new app are held by memories pending deletion.
    """
    own = AppMemory.objects.filter(source_conversation=conversation).exclude(app=app).first()
    if own is None or own.deletion_id is not None:
        return
    if not _has_free_place(app.pk):
        raise Refused("app-memories-being-cleared")
    _reset_memory_blocks([own.app_id])
    _evict(app.pk)
    AppMemory.objects.filter(pk=own.pk).update(app=app)
    events.send_on_commit(conversation.owner_id, "facts")


def list_for_conversation(conversation: Conversation) -> list[AppMemory]:
    """Return the live memories about a conversation, including other conversations' that absorbed it."""
    key, rows = str(conversation.pk), AppMemory.objects.filter(owner=conversation.owner_id).live()
    return [
        memory
        for memory in rows
        if memory.source_conversation_id == conversation.pk
        or key in memory.metadata.get("related_conversations", [])
    ]


def hide_app_memories(memories: QuerySet[AppMemory], deletion: Deletion) -> int:
    """Attach memories to a deletion; returns how many. In a transaction."""
    chosen = list(memories.filter(deletion__isnull=True))
    AppMemory.objects.filter(pk__in=[m.pk for m in chosen]).update(deletion=deletion)
    _reset_memory_blocks({m.app_id for m in chosen})
    if chosen:
        events.send_on_commit(deletion.owner_id, "facts")
    return len(chosen)


def restore_app_memories(deletion: Deletion) -> int:
    """Restore the memories of a deletion that was undone; returns how many. In a transaction."""
    back = AppMemory.objects.filter(deletion=deletion)
    _reset_memory_blocks(set(back.values_list("app", flat=True)))
    return back.update(deletion=None)


def purge_app_memories(deletion: Deletion) -> None:
    """Delete a deletion's memories for good, add tombstones and free the prompt caches. In a transaction."""
    deleted = list(AppMemory.objects.filter(deletion=deletion))
    if not deleted:
        return
    tombstones.add_app_memory_tombstones(deletion.owner, deleted, deletion.pressed_at)
    covered = {m.source_conversation_id for m in deleted if m.source_conversation_id}
    covered.update(UUID(key) for m in deleted for key in m.metadata.get("related_conversations", []))
    if deletion.app_id is not None:
        covered.update(Conversation.objects.filter(app=deletion.app_id).values_list("pk", flat=True))
    _advance_watermarks(deletion, covered)
    _reset_memory_blocks({m.app_id for m in deleted})
    # Any conversation may have used them, including those that have ended or moved to another app since.
    read = Conversation.objects.for_owner(deletion.owner).values_list("pk", flat=True)
    AppMemory.objects.filter(pk__in=[m.pk for m in deleted]).delete()
    jobs.enqueue("free_caches", {"conversations": sorted(map(str, read))})
    events.send_on_commit(deletion.owner_id, "facts")


def replace_contents(owner: User, memories: Sequence[AppMemory]) -> None:
    """Save memories whose content lost sentences, and delete those that lost all. In a transaction."""
    if not memories:
        return
    AppMemory.objects.filter(pk__in=[m.pk for m in memories if not m.content]).delete()
    for memory in memories:
        memory.updated_at = timezone.now()
    AppMemory.objects.bulk_update([m for m in memories if m.content], ["content", "updated_at"])
    _reset_memory_blocks({m.app_id for m in memories})
    read = Conversation.objects.for_owner(owner).values_list("pk", flat=True)
    jobs.enqueue("free_caches", {"conversations": sorted(map(str, read))})
    events.send_on_commit(owner.pk, "facts")


def _advance_watermarks(deletion: Deletion, keys: Collection[UUID]) -> None:
    """Move the watermarks of these conversations past the messages sent before the deletion.

    No app memory covers those messages again.
    """
    messages = Message.objects.filter(conversation__in=keys).said_by(deletion.pressed_at)
    last = dict(messages.order_by().values_list("conversation").annotate(Max("seq")))
    conversations = list(Conversation.objects.for_owner(deletion.owner).filter(pk__in=last))
    for conversation in conversations:
        conversation.app_memory_after = max(conversation.app_memory_after, last[conversation.pk])
    Conversation.objects.bulk_update(conversations, ["app_memory_after"])


def _reset_memory_blocks(apps: Collection[UUID]) -> None:
    """Rebuild the memory blocks of these apps' conversations with their next prompt.

    All conversations of the apps are included, because a prompt may contain an earlier wording of a
    memory.
    """
    mine = Conversation.objects.filter(app__in=apps)
    mine.filter(memory_block__contains=PROMPT_SECTION_START).update(memory_block=None, memory_block_facts={})
    # Prepared compactions are discarded unread, which is cheaper than checking each.
    mine.filter(prepared__isnull=False).update(prepared=None)
