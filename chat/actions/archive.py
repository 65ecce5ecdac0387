"""The archive of facts that ended, were evicted or decayed, or were heard once.

The owner can restore them for 30 days.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chat.errors import Refused
from chat.memory import confidence
from chat.memory import evict as rule
from chat.memory.text_similarity import normalize_text
from chat.models import DeletionState, Fact, FactEvent, FactEventKind, Message, User

from . import events, graph, purge
from .fact_events import MEMORY, SYSTEM, USER, build_event, record_event, snapshot
from .owners import local_day_of, lock_memory
from .supersession import append_chain, find_ancestor_ids, keep_one_value

ARCHIVE_RETENTION = timedelta(days=30)
_MADE_ROOM = "made room for newer memories"


def evict_facts(owner: User, now: datetime, keep: Collection[UUID] = ()) -> list[Fact]:
    """Archive the facts that exceed the cap, and return them; inside the caller's transaction.

    Every function that adds facts calls it. Facts pending deletion keep their places. `keep` lists facts
    that must stay: those just added or restored.
    """
    live = list(Fact.objects.filter(owner=owner).live())
    placed = Fact.objects.filter(owner=owner, superseded_at__isnull=True, archived_at__isnull=True)
    pending = placed.filter(deletion__state=DeletionState.PENDING).count()
    unpinned = [rule.Evictable(f.pk, f.category, f.confidence, f.last_seen) for f in live if not f.pinned]
    placed_count = len(live) + pending
    evicted = rule.choose_evicted_facts(unpinned, placed_count, now, pending=pending, keep=frozenset(keep))
    by_id = {fact.pk: fact for fact in live}
    return archive_facts([by_id[pk] for pk in evicted], FactEventKind.EVICT, _MADE_ROOM, now)


def archive_facts(facts: list[Fact], kind: FactEventKind, reason: str, now: datetime) -> list[Fact]:
    """Archive and unpin live facts, with an event each, and return them; inside the caller's transaction."""
    if not facts:
        return facts
    states = [snapshot(fact) for fact in facts]
    for fact in facts:
        fact.archived_at, fact.pinned = now, False
    Fact.objects.filter(pk__in=[f.pk for f in facts]).update(archived_at=now, pinned=False)
    FactEvent.objects.bulk_create(
        build_event(fact, kind, SYSTEM, before=before, reason=reason)
        for fact, before in zip(facts, states, strict=True)
    )
    for fact in facts:
        graph.sync_fact(fact)
    events.send_on_commit(facts[0].owner_id, "facts")
    return facts


def archive_past_facts(owner: User, today: date, now: datetime) -> list[Fact]:
    """Archive the facts that held until a day before `today`, also pinned ones, and return them."""
    with transaction.atomic():
        lock_memory(owner.pk)
        past = list(Fact.objects.filter(owner=owner, holds_until__lt=today).live())
        return archive_facts(past, FactEventKind.PASS, "its day is over", now)


def archive_ended_fact(fact: Fact, reason: str, source: Message | None, actor: str = MEMORY) -> None:
    """Archive a fact of which a message says that it no longer holds; inside the caller's transaction.

    The owner can restore it like an evicted fact, because the model may have misread the message.
    """
    before = snapshot(fact)
    fact.archived_at, fact.pinned = timezone.now(), False
    fact.save(update_fields=["archived_at", "pinned"])
    record_event(fact, FactEventKind.SUPERSEDE, actor, before=before, reason=reason, source=source)
    graph.sync_fact(fact)


def restore_archived_fact(fact: Fact) -> Fact:
    """Restore an archived fact with at least its baseline confidence, and return it.

    A live fact with the same text is merged into it; another live value of a single-valued kind is
    superseded. Raises Refused when the fact is not in the archive, or was archived more than
    `ARCHIVE_RETENTION` ago.
    """
    now = timezone.now()
    with transaction.atomic():
        lock_memory(fact.owner_id)
        found = Fact.objects.filter(
            pk=fact.pk, archived_at__gt=now - ARCHIVE_RETENTION, deletion__isnull=True
        )
        archived = found.select_for_update().select_related("owner").first()
        if archived is None:
            raise Refused("fact-not-archived")
        before = snapshot(archived)
        archived.archived_at, archived.superseded_at, archived.idle_days = None, None, 0
        archived.heard_once = False
        # With the old date, the next eviction would archive it again.
        archived.last_seen = archived.last_used = now
        drop_passed_end(archived)
        archived.confidence = max(archived.confidence, confidence.get_initial_confidence(archived.origin))
        archived.save()
        absorb_duplicate(archived)
        record_event(
            archived, FactEventKind.RESTORE, USER, before=before, reason="brought back from the archive"
        )
        graph.sync_fact(archived)
        keep_one_value(archived, USER, "an older value was brought back", newest=True)
        evict_facts(archived.owner, now, keep=[archived.pk])
        events.send_on_commit(archived.owner_id, "facts")
    return archived


def drop_passed_end(fact: Fact) -> None:
    """Let a fact that the owner brings back hold without an end, where its end is over."""
    if fact.holds_until is not None and fact.holds_until < local_day_of(fact.owner_id):
        fact.holds_until = None


def absorb_duplicate(fact: Fact) -> dict[str, Any] | None:
    """Merge the live fact with the same text into a restored one; returns a snapshot of it, or None.

    Its events move too, so that deleting the fact finds every wording that a prompt has contained.
    """
    wanted = normalize_text(fact.text)
    others = Fact.objects.filter(owner=fact.owner_id).live().exclude(pk=fact.pk)
    twin = next((f for f in others if normalize_text(f.text) == wanted), None)
    if twin is None:
        return None
    fact.pinned = fact.pinned or twin.pinned
    fact.mention_count += twin.mention_count
    fact.confidence = max(fact.confidence, twin.confidence)
    # The duplicate was learned while the restored fact was away, so its mention is the later one.
    fact.last_seen_conversation_id = twin.last_seen_conversation_id or fact.last_seen_conversation_id
    fact.last_seen, fact.last_used = max(fact.last_seen, twin.last_seen), max(fact.last_used, twin.last_used)
    fact.idle_days = min(fact.idle_days, twin.idle_days)
    fact.save()
    Fact.objects.filter(supersedes=twin).update(supersedes=fact)
    append_chain(fact, twin.supersedes_id)
    FactEvent.objects.filter(fact=twin).update(fact=fact)
    merged = snapshot(twin)
    twin.delete()
    return merged


def purge_archive(owner: User, now: datetime) -> int:
    """Delete the facts that were archived at least 30 days ago, with their traces; returns how many."""
    with transaction.atomic():
        lock_memory(owner.pk)
        old = Fact.objects.filter(
            owner=owner, deletion__isnull=True, archived_at__lte=now - ARCHIVE_RETENTION
        )
        ids = set(old.values_list("pk", flat=True))
        if ids:
            # The facts that an archived one superseded are reachable only through it.
            purge.purge_facts(owner, ids.union(find_ancestor_ids(owner.pk, ids)))
            events.send_on_commit(owner.pk, "facts")
    return len(ids)
