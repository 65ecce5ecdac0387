"""The history of a fact, and the way back to any point of it."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.models import Fact, FactEvent, FactEventKind

from . import archive, events, graph
from .facts import OnItsWayOut, clean, same_text, settle_later
from .history import MEMORY, USER, record, snapshot
from .lineage import ancestor_ids, detach, keep_one_value, supersede
from .messages import Refused
from .owners import hold_memory

_REASON = "an earlier state was restored"


def history(fact: Fact) -> list[FactEvent]:
    """Return what happened to a fact and to all that it replaced, oldest first; nothing of a forgotten one.

    Days of fading in a row are one entry: the last, with what was before the first.
    """
    chain = [fact.pk, *ancestor_ids(fact.owner_id, [fact.pk])]
    told = FactEvent.objects.filter(fact__in=chain, fact__owner=fact.owner_id, fact__deletion__isnull=True)
    entries: list[FactEvent] = []
    for event in told.select_related("fact", "source_message__conversation").order_by("created_at"):
        last = entries[-1] if entries else None
        if last is not None and last.kind == event.kind == FactEventKind.DECAY and last.fact == event.fact:
            event.before = last.before
            entries.pop()
        entries.append(event)
    return entries


def restore_to(fact: Fact, event: FactEvent) -> Fact:
    """Give a fact, or one that it replaced, the text, category, kind and subject that it had after an event.

    A replaced fact is live again and its replacement superseded, where only one of them can hold; an archived
    one comes back from the archive. Returns the restored fact. Raises OnItsWayOut for a pending one and
    Refused where the point is not of this fact's history, was forgotten, or is known as a memory of its own.
    """
    with transaction.atomic():
        hold_memory(fact.owner_id)
        found = _restorable(fact, event)
        text = clean(fact.owner_id, event.after["text"])
        if found.archived_at is not None:
            found = archive.bring_back(found)
        if same_text(found.owner, text, but=found) is not None:
            raise Refused(_("This is remembered already, as a memory of its own."))
        before = snapshot(found)
        successors = _successors(found)
        old_text, found.text = found.text, text
        for name in ("category", "kind", "subject"):
            setattr(found, name, event.after[name])
        if found.text != old_text:
            found.embedding, found.embedder = None, ""
        found.superseded_at, found.idle_days = None, 0
        found.last_seen = timezone.now()
        found.version += 1
        found.save()
        record(found, FactEventKind.RESTORE, USER, before=before, reason=_REASON)
        graph.follow(found)
        detach(found)
        for successor in successors:
            supersede(successor, found, USER, _REASON)
        keep_one_value(found, USER, _REASON, newest=True)
        archive.evict(found.owner, timezone.now(), keep=[found.pk])
        if found.text != old_text:
            settle_later(found)  # for the vector: its kind is the one it had
        events.tell(found.owner_id, "facts")
    return found


def _restorable(fact: Fact, event: FactEvent) -> Fact:
    found = Fact.objects.select_for_update().select_related("owner").get(pk=event.fact_id)
    if found.deletion_id is not None or Fact.objects.filter(pk=fact.pk, deletion__isnull=False).exists():
        raise OnItsWayOut(_("This memory is being forgotten. Undo that first."))
    if found.pk not in (fact.pk, *ancestor_ids(fact.owner_id, [fact.pk])):
        raise Refused(_("This is not a point in this memory's history."))
    if "text" not in event.after:
        raise Refused(_("What this memory said then has been forgotten."))
    return found


def _successors(found: Fact) -> list[Fact]:
    """Return the live fact that memory put in this one's place: the two do not hold side by side."""
    if found.superseded_at is None:
        return []
    last = found.events.filter(kind=FactEventKind.SUPERSEDE).order_by("created_at").last()
    if last is None or last.actor != MEMORY:
        return []
    live = Fact.objects.filter(owner=found.owner_id).live().select_related("owner")
    return [fact for fact in live if found.pk in ancestor_ids(found.owner_id, [fact.pk])]
