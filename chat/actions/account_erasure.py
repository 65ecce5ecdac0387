"""Erases everything stored for an owner: hidden by one deletion, then restored with it or deleted for good.

These are steps of the functions in `deletions`; each runs inside their transaction.
"""

from __future__ import annotations

from chat.models import (
    App,
    AppMemory,
    AppMemoryEvent,
    Conversation,
    Deletion,
    Fact,
    IdempotentRequest,
    Job,
    Message,
    OwnerSettings,
    Tombstone,
    UsageRecord,
    User,
)
from chat.models.app import FIRST_APP

from . import app_memories, events, graph, indexing, jobs, purge
from .conversation_jobs import queue_extraction, schedule_idle_end

_KEPT_SETTINGS = {"owner", "faded_through"}


def hide_account(owner: User, deletion: Deletion) -> None:
    """Attach every conversation and app memory to the deletion, except those with a deletion of their own."""
    Conversation.objects.for_owner(owner).not_deleted().update(deletion=deletion)
    app_memories.hide_app_memories(AppMemory.objects.for_owner(owner), deletion)
    events.send_on_commit(owner.pk, "conversations")


def restore_account(deletion: Deletion) -> None:
    """Show the deletion's conversations again and queue their idle end, app memory and extraction."""
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
    events.send_on_commit(deletion.owner_id, "conversations")


def wipe_account(deletion: Deletion) -> None:
    """Delete for good what this deletion and earlier ones hid, with every trace of it.

    Data created after the deletion was requested stays. Settings and the first app get their default
    values. API tokens stay: they contain no user data, and the owner's programs keep their access.
    """
    owner = deletion.owner
    earlier = Deletion.objects.filter(owner=owner, pressed_at__lte=deletion.pressed_at)
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
    Tombstone.objects.filter(owner=owner, pressed_at__lte=deletion.pressed_at).delete()
    IdempotentRequest.objects.filter(owner=owner, created_at__lte=deletion.pressed_at).delete()
    AppMemoryEvent.objects.filter(owner=owner, created_at__lte=deletion.pressed_at).delete()
    UsageRecord.objects.filter(owner=owner, created_at__lte=deletion.pressed_at).delete()
    earlier.exclude(pk=deletion.pk).delete()
    _reset_settings_and_apps(owner)
    events.send_on_commit(owner.pk, "conversations")


def _reset_settings_and_apps(owner: User) -> None:
    defaults = OwnerSettings()
    fields = [f.name for f in OwnerSettings._meta.concrete_fields if f.name not in _KEPT_SETTINGS]
    OwnerSettings.objects.filter(owner=owner).update(**{name: getattr(defaults, name) for name in fields})
    first, *others = App.objects.for_owner(owner)
    slug, name = FIRST_APP
    if not any(app.slug == slug or app.name == name for app in others):
        App.objects.filter(pk=first.pk).update(slug=slug, name=name)
    App.objects.filter(pk=first.pk).update(persona=App().persona, strategy=App().strategy, archived_at=None)
    empty = App.objects.filter(pk__in=[app.pk for app in others], conversations__isnull=True)
    empty.delete()
