"""Hides conversations, or all data of an owner, while a deletion is pending. Its undo restores them, its end
erases them.

The functions on accounts are steps of the functions in `deletions`; each runs inside their transaction.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Model, Q
from django.utils import timezone

from chat.models import (
    App,
    AppMemory,
    AppMemoryEvent,
    Conversation,
    Deletion,
    Fact,
    IdempotentRequest,
    ImportUpload,
    Job,
    LoginFailure,
    Message,
    MessageState,
    OwnerSettings,
    QuotaUse,
    Tombstone,
    UsageRecord,
    User,
)
from chat.models.app import FIRST_APP
from chat.models.conversation import ConversationQuerySet

from . import app_memories, events, graph, indexing, jobs, leftovers, purge, quotas
from .clock import AHEAD
from .conversation_jobs import queue_extraction, schedule_idle_end
from .importing.uploads import discard_uploads
from .login_sessions import end_every_session
from .owners import default_app, is_local, lock_memory

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


def find_old_conversations(owner: User, before: datetime) -> ConversationQuerySet:
    """Return the owner's conversations that were last updated, and last kept, before a moment.

    Skips pinned and temporary ones, and those with flagged messages or a running reply.
    """
    kept = Message.objects.filter(Q(flagged=True) | Q(state=MessageState.STREAMING))
    old = Conversation.objects.for_owner(owner).listed().filter(updated_at__lt=before, pinned=False)
    old = old.exclude(kept_at__gte=before)
    return old.exclude(messages__in=kept)


def prune_conversations(owner: User, before: datetime) -> int:
    """Delete the owner's conversations that `find_old_conversations` finds for good; returns how many.

    One transaction each, so that other writers do not wait long.
    """
    old = find_old_conversations(owner, before)
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

    Its queued jobs do nothing meanwhile; `restore_conversations` queues them again.
    """
    hidden = Conversation.objects.not_deleted().filter(pk=conversation.pk).update(deletion=deletion)
    if hidden:
        events.send_on_commit(conversation.owner_id, "conversations", gone=str(conversation.pk))
    return bool(hidden)


def restore_conversations(deletion: Deletion) -> list[Conversation]:
    """Show a deletion's conversations again, queue their idle end, app memory and extraction, and return
    them. In a transaction.
    """
    found = list(Conversation.objects.filter(deletion=deletion).select_related("owner"))
    Conversation.objects.filter(deletion=deletion).update(deletion=None)
    waiting = set(Message.objects.backlog(deletion.owner).order_by().values_list("conversation", flat=True))
    for conversation in found:
        if conversation.ended_at is None:
            schedule_idle_end(conversation.pk)
        else:
            app_memories.queue_app_memory(conversation)
        if conversation.pk in waiting:
            queue_extraction(conversation)
    if found or deletion.whole:
        events.send_on_commit(deletion.owner_id, "conversations")
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


_KEPT_SETTINGS = {"owner", "faded_through"}


def hide_account(owner: User, deletion: Deletion) -> None:
    """Attach every conversation and app memory to the deletion, except those with a deletion of their own."""
    Conversation.objects.for_owner(owner).not_deleted().update(deletion=deletion)
    app_memories.hide_app_memories(AppMemory.objects.for_owner(owner), deletion)
    events.send_on_commit(owner.pk, "conversations")


def wipe_account(deletion: Deletion) -> None:
    """Delete for good what this deletion and earlier ones hid, with every trace of it.

    Data created after the deletion was requested stays. Settings and the first app get their default
    values. API tokens stay: they contain no user data, and the owner's programs keep their access.
    """
    owner = deletion.owner
    earlier = _find_earlier(deletion, Deletion, "pressed_at")
    purge.purge_facts(owner, set(Fact.objects.filter(deletion__in=earlier).values_list("pk", flat=True)))
    conversations = Conversation.objects.for_owner(owner).filter(deletion__in=earlier)
    keys = [str(key) for key in conversations.values_list("pk", flat=True)]
    Job.objects.filter(payload__conversation__in=keys).delete()
    conversations.delete()
    indexing.queue_index_merge(at_once=True)
    # The model's prompt caches still contain these conversations.
    jobs.enqueue("free_caches", {"conversations": keys})
    graph.delete_orphans(owner)
    AppMemory.objects.for_owner(owner).filter(deletion__in=earlier).delete()
    _find_earlier(deletion, Tombstone, "pressed_at").delete()
    for model in (IdempotentRequest, LoginFailure, AppMemoryEvent, ImportUpload):
        _find_earlier(deletion, model).delete()
    used_before = deletion.pressed_at
    if not is_local() and not deletion.account:
        # The limits of a person count what was used in a day; deleting everything must not reset them.
        used_before -= quotas.DAY
    for counted in (QuotaUse, UsageRecord):
        _find_earlier(deletion, counted, by=used_before).delete()
    earlier.exclude(pk=deletion.pk).delete()
    _reset_settings_and_apps(owner)
    if is_local():
        # Former databases that a restore has put aside, with the chats of the machine's only owner.
        transaction.on_commit(lambda: leftovers.remove_former_data(Path(settings.DATA_DIR)))
    events.send_on_commit(owner.pk, "conversations")


def _find_earlier(
    deletion: Deletion, model: type[Model], column: str = "created_at", *, by: datetime | None = None
) -> Any:
    """Return the owner's rows from before the deletion, or `by`, and those that a wrong clock dated ahead."""
    before = Q(**{f"{column}__lte": by or deletion.pressed_at})
    ahead = Q(**{f"{column}__gt": timezone.now() + AHEAD})
    return model._default_manager.filter(before | ahead, owner=deletion.owner)


def delete_account_rows(deletion: Deletion) -> None:
    """Delete for good everything of the deletion's owner, also what is newer, with the account itself.

    Tokens, logins, two-factor, addresses and counts of usage go with the row of the account.
    """
    owner, now = deletion.owner, timezone.now()
    Deletion.objects.filter(owner=owner).update(pressed_at=now)
    deletion.pressed_at = now
    Fact.objects.for_owner(owner).filter(deletion__isnull=True).update(deletion=deletion)
    hide_account(owner, deletion)
    wipe_account(deletion)
    end_every_session(owner)
    transaction.on_commit(lambda: discard_uploads(owner.pk))
    User.objects.filter(pk=owner.pk).delete()


def _reset_settings_and_apps(owner: User) -> None:
    defaults = OwnerSettings()
    fields = [f.name for f in OwnerSettings._meta.concrete_fields if f.name not in _KEPT_SETTINGS]
    OwnerSettings.objects.filter(owner=owner).update(**{name: getattr(defaults, name) for name in fields})
    # A user that was created by `createsuperuser` and has not opened a page yet has no app.
    first, *others = App.objects.for_owner(owner) or [default_app(owner)]
    slug, name = FIRST_APP
    if not any(app.slug == slug or app.name == name for app in others):
        App.objects.filter(pk=first.pk).update(slug=slug, name=name)
    App.objects.filter(pk=first.pk).update(persona=App().persona, strategy=App().strategy, archived_at=None)
    empty = App.objects.filter(pk__in=[app.pk for app in others], conversations__isnull=True)
    empty.delete()
