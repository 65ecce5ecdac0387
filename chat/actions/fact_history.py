"""The history of a fact, and restoring any state in it."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from chat.errors import PendingDeletion, Refused
from chat.models import Fact, FactEvent, FactEventKind

from . import archive, events, graph
from .fact_events import MEMORY, USER, read_dates, record_event, snapshot
from .facts import clean_text, find_same_text, queue_classification
from .owners import lock_memory
from .supersession import detach_from_successor, find_ancestor_ids, keep_one_value, supersede

_REASON = "an earlier state was restored"


def list_history(fact: Fact) -> list[FactEvent]:
    """Return the events of a fact and of all that it superseded, oldest first; none of deleted facts.

    Consecutive DECAY events of a fact are merged into the last one, with the first one's state before.
    """
    chain = [fact.pk, *find_ancestor_ids(fact.owner_id, [fact.pk])]
    events_of_chain = FactEvent.objects.filter(
        fact__in=chain, fact__owner=fact.owner_id, fact__deletion__isnull=True
    )
    entries: list[FactEvent] = []
    for event in events_of_chain.select_related("fact", "source_message__conversation").order_by(
        "created_at"
    ):
        last = entries[-1] if entries else None
        if last is not None and last.kind == event.kind == FactEventKind.DECAY and last.fact == event.fact:
            event.before = last.before
            entries.pop()
        entries.append(event)
    return entries


def restore_fact(fact: Fact, event: FactEvent) -> Fact:
    """Restore the text, category, kind, subject and dates that a fact of the chain had after an event.

    A superseded fact becomes live again and supersedes its successor where only one of them can hold; an
    archived one leaves the archive. Returns the restored fact. Raises PendingDeletion for a fact being
    deleted, and Refused when the event is not in this fact's history, its text was deleted, or another
    live fact has that text.
    """
    with transaction.atomic():
        lock_memory(fact.owner_id)
        restored = _lock_restorable(fact, event)
        text = clean_text(fact.owner_id, event.after["text"])
        if restored.archived_at is not None:
            restored = archive.restore_archived_fact(restored)
        if find_same_text(restored.owner, text, but=restored) is not None:
            raise Refused("fact-known")
        before = snapshot(restored)
        successors = _successors(restored)
        old_text, restored.text = restored.text, text
        for name in ("category", "kind", "subject"):
            setattr(restored, name, event.after[name])
        for name, day in read_dates(event.after).items():
            setattr(restored, name, day)
        archive.drop_passed_end(restored)
        if restored.text != old_text:
            restored.embedding, restored.embedder = None, ""
        restored.superseded_at, restored.idle_days = None, 0
        restored.last_seen = timezone.now()
        restored.version += 1
        restored.save()
        record_event(restored, FactEventKind.RESTORE, USER, before=before, reason=_REASON)
        graph.sync_fact(restored)
        detach_from_successor(restored)
        for successor in successors:
            supersede(successor, restored, USER, _REASON)
        keep_one_value(restored, USER, _REASON, newest=True)
        archive.evict_facts(restored.owner, timezone.now(), keep=[restored.pk])
        if restored.text != old_text:
            queue_classification(restored)  # for the vector; the kind was restored with the event
        events.send_on_commit(restored.owner_id, "facts")
    return restored


def _lock_restorable(fact: Fact, event: FactEvent) -> Fact:
    restored = Fact.objects.select_for_update().select_related("owner").get(pk=event.fact_id)
    if restored.deletion_id is not None or Fact.objects.filter(pk=fact.pk, deletion__isnull=False).exists():
        raise PendingDeletion("fact-pending-deletion")
    if restored.pk not in (fact.pk, *find_ancestor_ids(fact.owner_id, [fact.pk])):
        raise Refused("history-point-unknown")
    if "text" not in event.after:
        raise Refused("history-text-erased")
    return restored


def _successors(restored: Fact) -> list[Fact]:
    """Return the live fact with which memory replaced this one; empty when the user replaced it."""
    if restored.superseded_at is None:
        return []
    last = restored.events.filter(kind=FactEventKind.SUPERSEDE).order_by("created_at").last()
    if last is None or last.actor != MEMORY:
        return []
    live = Fact.objects.filter(owner=restored.owner_id).live().select_related("owner")
    return [fact for fact in live if restored.pk in find_ancestor_ids(restored.owner_id, [fact.pk])]
