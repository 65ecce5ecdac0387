"""The archive: facts that ended, made room or faded; back on request for 30 days (design §5)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chat.memory import confidence
from chat.memory import evict as rule
from chat.memory.similar import normalise
from chat.models import DeletionState, Fact, FactEvent, FactEventKind, Message

from . import events, graph, traces
from .history import MEMORY, SYSTEM, USER, event, record, snapshot
from .lineage import ancestor_ids, append, keep_one_value
from .messages import Refused
from .owners import hold_memory

KEPT_FOR = timedelta(days=30)  # design §5, "Eviction"


def evict(owner: Any, now: datetime, keep: Collection[UUID] = ()) -> list[Fact]:
    """Archive what must make room, if anything must; inside the transaction of every verb that adds.

    Pending facts keep their places. `keep` names what was just added or brought back.
    """
    live = list(Fact.objects.filter(owner=owner).live())
    placed = Fact.objects.filter(owner=owner, superseded_at__isnull=True, archived_at__isnull=True)
    waiting = placed.filter(deletion__state=DeletionState.PENDING).count()
    loose = [rule.Evictable(f.pk, f.category, f.confidence, f.last_seen) for f in live if not f.pinned]
    held = len(live) + waiting
    leaving = rule.choose(loose, held, now, pending=waiting, keep=frozenset(keep))
    by_id = {fact.pk: fact for fact in live}
    return put_away([by_id[pk] for pk in leaving], FactEventKind.EVICT, _MADE_ROOM, now)


_MADE_ROOM = "made room for newer memories"


def put_away(facts: list[Fact], kind: FactEventKind, reason: str, now: datetime) -> list[Fact]:
    """Archive live facts, each with its event, and return them; inside the caller's transaction."""
    if not facts:
        return facts
    for fact in facts:
        fact.archived_at = now
    Fact.objects.filter(pk__in=[f.pk for f in facts]).update(archived_at=now)
    FactEvent.objects.bulk_create(event(f, kind, SYSTEM, before=snapshot(f), reason=reason) for f in facts)
    for fact in facts:
        graph.follow(fact)
    events.tell(facts[0].owner_id, "facts")
    return facts


def end(fact: Fact, reason: str, source: Message) -> None:
    """Archive a fact of which the user said that it is over; inside the caller's transaction.

    It can be brought back for as long as what was evicted: the model may have misread an ending.
    """
    before = snapshot(fact)
    fact.archived_at, fact.pinned = timezone.now(), False
    fact.save(update_fields=["archived_at", "pinned"])
    record(fact, FactEventKind.SUPERSEDE, MEMORY, before=before, reason=reason, source=source)
    graph.follow(fact)


def bring_back(fact: Fact) -> Fact:
    """Return an archived fact to the living, as sure as when it was learned; the fact that says it now.

    Where its words were learned again meanwhile the two become one; a single value that was learned
    meanwhile makes way for it. Raises Refused when it is not in the archive, or no longer.
    """
    now = timezone.now()
    with transaction.atomic():
        hold_memory(fact.owner_id)
        found = Fact.objects.filter(pk=fact.pk, archived_at__gt=now - KEPT_FOR, deletion__isnull=True)
        archived = found.select_for_update().select_related("owner").first()
        if archived is None:
            raise Refused(_("This memory is no longer in the archive."))
        before = snapshot(archived)
        archived.archived_at, archived.superseded_at, archived.idle_days = None, None, 0
        # The user wants it now: the old date would evict it again with the next fact.
        archived.last_seen = archived.last_used = now
        archived.confidence = max(archived.confidence, confidence.baseline(archived.origin))
        archived.save()
        absorb_twin(archived)
        record(archived, FactEventKind.RESTORE, USER, before=before, reason="brought back from the archive")
        graph.follow(archived)
        keep_one_value(archived, USER, "an older value was brought back", newest=True)
        evict(archived.owner, now, keep=[archived.pk])
        events.tell(archived.owner_id, "facts")
    return archived


def absorb_twin(fact: Fact) -> dict[str, Any] | None:
    """Make one of a returning fact and the live one that says the same; returns what that one was.

    The twin's history moves over, so that forgetting finds its wording wherever a prompt has said it.
    """
    wanted = normalise(fact.text)
    others = Fact.objects.filter(owner=fact.owner_id).live().exclude(pk=fact.pk)
    twin = next((f for f in others if normalise(f.text) == wanted), None)
    if twin is None:
        return None
    fact.pinned = fact.pinned or twin.pinned
    fact.mention_count += twin.mention_count
    fact.confidence = max(fact.confidence, twin.confidence)
    fact.last_seen, fact.last_used = max(fact.last_seen, twin.last_seen), max(fact.last_used, twin.last_used)
    fact.idle_days = min(fact.idle_days, twin.idle_days)
    fact.save()
    Fact.objects.filter(supersedes=twin).update(supersedes=fact)
    append(fact, twin.supersedes_id)
    FactEvent.objects.filter(fact=twin).update(fact=fact)
    was = snapshot(twin)
    twin.delete()
    return was


def purge(owner: Any, now: datetime) -> int:
    """Remove for good what has lain in the archive for 30 days, with its traces; returns how many facts."""
    with transaction.atomic():
        hold_memory(owner.pk)
        old = Fact.objects.filter(owner=owner, deletion__isnull=True, archived_at__lte=now - KEPT_FOR)
        ids = set(old.values_list("pk", flat=True))
        if ids:
            # What an archived fact had replaced is reachable through it alone.
            traces.erase(owner, ids.union(ancestor_ids(owner, ids)))
            events.tell(owner.pk, "facts")
    return len(ids)
