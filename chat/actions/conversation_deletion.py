"""Hides, restores and removes conversations, for deletions that can be undone and for pruning."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q

from chat.models import Conversation, Deletion, Job, MemoryMode, Message, MessageState, User

from . import app_memories, events, indexing, jobs
from .conversation_jobs import queue_extraction, schedule_idle_end
from .owners import lock_memory

# Kinds of jobs that concern one conversation; their dedupe key is `kind:conversation`.
_CONVERSATION_JOBS = ("extract", "end_idle", "title", "warm", "prepare", "app_memory")


def purge_conversation_rows(conversation: Conversation) -> None:
    """Delete a conversation and its jobs as `purge_conversation` does; in the caller's transaction."""
    # Every writer locks in this order: memory, conversation, jobs.
    lock_memory(conversation.owner_id)
    Conversation.objects.select_for_update().filter(pk=conversation.pk).first()
    key = str(conversation.pk)
    Job.objects.filter(dedupe_key__in=[f"{kind}:{key}" for kind in _CONVERSATION_JOBS]).delete()
    Conversation.objects.filter(pk=conversation.pk).delete()
    indexing.queue_index_merge()
    # The model keeps the tokens of the conversation in its caches until this job has run.
    jobs.enqueue("free_caches", {"conversations": [key]})


def purge_conversation(conversation: Conversation) -> None:
    """Delete a conversation with its messages, topics and archives for good.

    Facts learned in it stay, without a link to it. A reply that another process is writing in it is lost.
    """
    with transaction.atomic():
        purge_conversation_rows(conversation)


def prune_conversations(owner: User, before: datetime) -> int:
    """Delete the owner's conversations that were last updated before a moment; returns how many.

    Skips pinned and temporary ones, and those with flagged messages or a running reply. One transaction
    each, so that other writers do not wait long.
    """
    kept = Message.objects.filter(Q(flagged=True) | Q(state=MessageState.STREAMING))
    old = Conversation.objects.for_owner(owner).listed().filter(updated_at__lt=before, pinned=False)
    old = old.exclude(messages__in=kept)
    count = 0
    for key in list(old.values_list("pk", flat=True)):
        with transaction.atomic():
            lock_memory(owner.pk)
            # It may have been written in, or flagged, since the list was read.
            if (conversation := old.select_for_update().filter(pk=key).first()) is not None:
                purge_conversation_rows(conversation)
                count += 1
    return count


def purge_hidden_conversations(deletion: Deletion) -> None:
    """Delete a deletion's conversation for good. In a transaction."""
    for conversation in Conversation.objects.filter(deletion=deletion):
        purge_conversation_rows(conversation)


def hide_conversation(conversation: Conversation, deletion: Deletion) -> bool:
    """Attach a conversation to a deletion; returns False when it is gone already. In a transaction.

    Its queued jobs do nothing meanwhile; `restore_conversation` queues them again.
    """
    hidden = Conversation.objects.not_deleted().filter(pk=conversation.pk).update(deletion=deletion)
    if hidden:
        events.send_on_commit(conversation.owner_id, "conversations", gone=str(conversation.pk))
    return bool(hidden)


def restore_conversation(deletion: Deletion) -> Conversation | None:
    """Show a deletion's conversation again, queue its jobs and return it. In a transaction."""
    found = Conversation.objects.select_related("owner").filter(deletion=deletion).first()
    if found is None:
        return None
    Conversation.objects.filter(pk=found.pk).update(deletion=None)
    if found.ended_at is None:
        schedule_idle_end(found.pk)
    if found.ended_at is not None:
        app_memories.queue_app_memory(found)
    if found.memory_mode == MemoryMode.ON and Message.objects.not_extracted(found).exists():
        queue_extraction(found)
    events.send_on_commit(found.owner_id, "conversations")
    return found


def discard_temporary(conversation_id: Any) -> bool:
    """Delete a temporary conversation and its prompt cache; returns False when it does not exist."""
    with transaction.atomic():
        found = Conversation.objects.filter(pk=conversation_id, temporary=True).first()
        if found is None:
            return False
        purge_conversation_rows(found)
        events.send_on_commit(found.owner_id, "conversations", gone=str(found.pk))
    return True
