"""Keeps the entity graph in line with the facts it is made from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db import transaction

from chat.memory.graph import Thing, Tie, ties
from chat.memory.similar import normalise
from chat.models import Entity, EntityType, Fact, Relationship

from .owners import hold_memory

# What one run of the catching-up reads, so that a deadline behind it waits for less than a second.
BATCH = 200


def follow(fact: Fact) -> None:
    """Bring the graph in line with what a fact says now and with whether it still stands; idempotent.

    Called inside the transaction that changed the fact, whatever the change was: its row is read again. A
    fact on its way out keeps its relationships as they are, for Undo; readers do not see them.
    """
    now = Fact.objects.filter(pk=fact.pk).select_related("owner").first()
    if now is None:
        return
    stands = now.superseded_at is None and now.archived_at is None
    known = {_key(row): row for row in now.relationships.select_related("source", "target")}
    wanted = ties(now.kind, now.text, now.language)
    new = [tie for tie in wanted if _tie_key(tie) not in known]
    if new:
        _add(now, new, stands)
    for tie in wanted:
        row = known.pop(_tie_key(tie), None)
        if row is not None:
            _settle_type(row.target, tie.target)
            _set_valid(row, stands)
    said = f" {normalise(now.text)} "
    # Where the words are still there and read otherwise now, it was never so.
    misread = [row.pk for row in known.values() if f" {row.target.key} " in said]
    for row in known.values():
        _set_valid(row, False)
    if misread:
        Relationship.objects.filter(pk__in=misread).delete()
        drop_orphans(now.owner)


def relink(owner: Any, facts: Iterable[Fact]) -> None:
    """Follow several of an owner's facts and drop what nothing speaks of any more."""
    with transaction.atomic():
        hold_memory(owner.pk)
        for fact in facts:
            follow(fact)
        drop_orphans(owner)


def drop_orphans(owner: Any) -> int:
    """Delete the owner's entities that no relationship touches any more; returns how many.

    Forgetting a fact for good takes its relationships with it; this takes the names that only it knew. In
    the caller's transaction.
    """
    orphans = Entity.objects.for_owner(owner).filter(relations_from__isnull=True, relations_to__isnull=True)
    gone, _ = orphans.delete()
    return gone


def forget_words(owner: Any, wordings: Collection[str]) -> int:
    """Delete what the graph still knows by forgotten words; returns how many entities went.

    Where a fact that stays was edited, its obsolete relationships hold words that it no longer says; those
    that a forgotten wording said go, and then what nothing speaks of. In the caller's transaction.
    """
    said = [f" {normalise(text)} " for text in wordings]
    obsolete = Relationship.objects.for_owner(owner).filter(valid=False)
    for row in obsolete.select_related("target", "source_fact") if said else ():
        name = f" {row.target.key} "
        if name not in f" {normalise(row.source_fact.text)} " and any(name in text for text in said):
            row.delete()
    return drop_orphans(owner)


def catch_up(after: str | None = None) -> str | None:
    """Read the next facts that have no relationships yet; returns the last one's key while there are more.

    For facts from before there was a graph, and from before a rule that reads them. Each in a transaction of
    its own, but for those that say nothing of anything.
    """
    unread = Fact.objects.filter(relationships__isnull=True).order_by("pk")
    batch = list(unread.filter(pk__gt=after)[:BATCH] if after else unread[:BATCH])
    for fact in (fact for fact in batch if ties(fact.kind, fact.text, fact.language)):
        with transaction.atomic():
            hold_memory(fact.owner_id)
            follow(fact)
    return str(batch[-1].pk) if len(batch) == BATCH else None


def _key(row: Relationship) -> tuple[str, str, str]:
    return (row.source.key if row.source else "", row.relation, row.target.key)


def _name_key(thing: Thing | None) -> str:
    return normalise(thing.name) if thing else ""


def _tie_key(tie: Tie) -> tuple[str, str, str]:
    return (_name_key(tie.source), tie.relation, _name_key(tie.target))


def _add(fact: Fact, new: Sequence[Tie], stands: bool) -> None:
    """Write relationships and the entities that they are the first to speak of, in four queries at most."""
    things = {_name_key(thing): thing for tie in new for thing in (tie.source, tie.target) if thing}
    known = _entities(fact.owner_id, things)
    for key, entity in known.items():
        _settle_type(entity, things[key])
    first = [
        Entity(owner_id=fact.owner_id, key=key, name=thing.name, type=thing.type)
        for key, thing in things.items()
        if key not in known
    ]
    if first:
        # Another transaction may have been quicker with one of them.
        Entity.objects.bulk_create(first, ignore_conflicts=True)
        known = _entities(fact.owner_id, things)
    Relationship.objects.bulk_create(
        Relationship(
            owner_id=fact.owner_id,
            source=known[_name_key(tie.source)] if tie.source else None,
            target=known[_name_key(tie.target)],
            relation=tie.relation,
            valid=stands,
            source_fact=fact,
            created_at=fact.first_seen,
        )
        for tie in new
    )


def _entities(owner_id: Any, keys: Collection[str]) -> dict[str, Entity]:
    return {entity.key: entity for entity in Entity.objects.filter(owner=owner_id, key__in=keys)}


def _settle_type(entity: Entity, thing: Thing) -> None:
    """Let the first say what a thing is, and a later fact make a mere concept more specific."""
    if entity.type == "concept" != thing.type:
        entity.type = EntityType(thing.type)
        entity.save(update_fields=["type"])


def _set_valid(row: Relationship, valid: bool) -> None:
    if row.valid != valid:
        row.valid = valid
        row.save(update_fields=["valid"])
