"""All that is kept of an owner on its way out: hidden with one batch, brought back with it, or wiped.

Steps of the verbs in `deletions`, each inside their transaction.
"""

from __future__ import annotations

from typing import Any

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
)
from chat.models.app import FIRST

from . import app_memories, events, graph, indexing, jobs, traces
from .messages import ask_for_look, end_when_idle

_KEPT_SETTINGS = {"owner", "faded_through"}


def hide(owner: Any, deletion: Deletion) -> None:
    """Take every conversation out of sight with a batch; those on their way out already keep theirs."""
    Conversation.objects.for_owner(owner).kept().update(deletion=deletion)
    app_memories.hide(AppMemory.objects.for_owner(owner), deletion)
    events.tell(owner.pk, "rooms")


def bring_back(deletion: Deletion) -> None:
    """Show a batch's conversations again and have memory read what waits in them."""
    found = list(Conversation.objects.filter(deletion=deletion).select_related("owner"))
    Conversation.objects.filter(deletion=deletion).update(deletion=None)
    waiting = set(Message.objects.backlog(deletion.owner).order_by().values_list("conversation", flat=True))
    for conversation in found:
        if conversation.ended_at is None:
            end_when_idle(conversation.pk)
        else:
            app_memories.ask_for(conversation)
        if conversation.pk in waiting:
            ask_for_look(conversation)
    events.tell(deletion.owner_id, "rooms")


def wipe(deletion: Deletion) -> None:
    """Delete for good what the batch hid and what was on its way out before it, and every trace of it.

    What was begun after the press stays. Settings and the first app are as on the first day; API tokens stay,
    for they open the door to programs of the owner and hold nothing of theirs.
    """
    owner = deletion.owner
    until = Deletion.objects.filter(owner=owner, pressed_at__lte=deletion.pressed_at)
    traces.erase(owner, set(Fact.objects.filter(deletion__in=until).values_list("pk", flat=True)))
    gone = Conversation.objects.for_owner(owner).filter(deletion__in=until)
    keys = [str(key) for key in gone.values_list("pk", flat=True)]
    Job.objects.filter(payload__conversation__in=keys).delete()
    gone.delete()
    indexing.ask_to_tidy(at_once=True)
    # What the model has read of them is in its caches still.
    jobs.enqueue("free_caches", {"conversations": keys})
    graph.drop_orphans(owner)
    AppMemory.objects.for_owner(owner).filter(deletion__in=until).delete()
    Tombstone.objects.filter(owner=owner, pressed_at__lte=deletion.pressed_at).delete()
    IdempotentRequest.objects.filter(owner=owner, created_at__lte=deletion.pressed_at).delete()
    AppMemoryEvent.objects.filter(owner=owner, created_at__lte=deletion.pressed_at).delete()
    UsageRecord.objects.filter(owner=owner, created_at__lte=deletion.pressed_at).delete()
    until.exclude(pk=deletion.pk).delete()
    _begin_again(owner)
    events.tell(owner.pk, "rooms")


def _begin_again(owner: Any) -> None:
    fresh = OwnerSettings()
    fields = [f.name for f in OwnerSettings._meta.concrete_fields if f.name not in _KEPT_SETTINGS]
    OwnerSettings.objects.filter(owner=owner).update(**{name: getattr(fresh, name) for name in fields})
    first, *others = App.objects.for_owner(owner)
    slug, name = FIRST
    if not any(app.slug == slug or app.name == name for app in others):
        App.objects.filter(pk=first.pk).update(slug=slug, name=name)
    App.objects.filter(pk=first.pk).update(persona=App().persona, strategy=App().strategy, archived_at=None)
    empty = App.objects.filter(pk__in=[app.pk for app in others], conversations__isnull=True)
    empty.delete()
