"""Keeps the entity graph consistent with the facts from which it is built."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from chat.memory.graph import EntityMention, Relation, extract_relations
from chat.memory.text_similarity import normalize_text
from chat.models import Entity, EntityType, Fact, Relationship, User

from . import jobs
from .owners import lock_memory

# Facts read in one run of the backfill, so that a deletion behind it waits less than a second.
BATCH = 200
# Relations from the owner to what is theirs, with the kind of a fact about it.
_OWN_RELATIONS = {"builds": "building", "has_pet": "pet"}


def sync_fact(fact: Fact) -> None:
    """Update the graph to a fact's present text and state; idempotent.

    Call it inside the transaction that changed the fact; the row is read again. A fact pending deletion
    keeps its relationships for an undo; readers do not see them.
    """
    now = Fact.objects.filter(pk=fact.pk).select_related("owner").first()
    if now is None:
        return
    is_valid = now.superseded_at is None and now.archived_at is None
    known = {_relationship_key(row): row for row in now.relationships.select_related("source", "target")}
    wanted = extract_relations(now.kind, now.text, now.language)
    new = [tie for tie in wanted if _relation_key(tie) not in known]
    if new:
        _create_relationships(now, new, is_valid)
    for tie in wanted:
        row = known.pop(_relation_key(tie), None)
        if row is not None:
            _refine_type(row.target, tie.target)
            _set_valid(row, is_valid)
    padded = f" {normalize_text(now.text)} "
    # The words are still in the text and are parsed differently now, so the relationship never held.
    misread = [row.pk for row in known.values() if f" {row.target.key} " in padded]
    for row in known.values():
        _set_valid(row, False)
    if misread:
        Relationship.objects.filter(pk__in=misread).delete()
        delete_orphans(now.owner)


def sync_facts(owner: User, facts: Iterable[Fact]) -> None:
    """Update the graph for several facts of an owner and delete entities without relationships."""
    with transaction.atomic():
        lock_memory(owner.pk)
        for fact in facts:
            sync_fact(fact)
        delete_orphans(owner)


def delete_orphans(owner: User) -> int:
    """Delete the owner's entities without relationships; returns how many. In the caller's transaction.

    Deleting a fact for good deletes its relationships; this deletes the entities that only it named.
    """
    orphans = Entity.objects.for_owner(owner).filter(relations_from__isnull=True, relations_to__isnull=True)
    deleted, _ = orphans.delete()
    return deleted


def delete_forgotten_words(owner: User, wordings: Collection[str]) -> int:
    """Delete what the graph still contains of deleted wordings; returns how many entities were deleted.

    When a remaining fact was edited, its obsolete relationships contain words that it no longer has.
    Those that match a deleted wording are deleted, then the entities without relationships. In the
    caller's transaction.
    """
    padded = [f" {normalize_text(text)} " for text in wordings]
    obsolete = Relationship.objects.for_owner(owner).filter(valid=False)
    for row in obsolete.select_related("target", "source_fact") if padded else ():
        name = f" {row.target.key} "
        if name not in f" {normalize_text(row.source_fact.text)} " and any(name in text for text in padded):
            row.delete()
    return delete_orphans(owner)


def list_own_names(owner: User) -> dict[str, str]:
    """Return the names of the projects and pets of an owner, case folded, with the kind of a fact about each.

    One query.
    """
    rows = Relationship.objects.for_owner(owner).visible()
    own = rows.filter(source=None, relation__in=_OWN_RELATIONS, valid=True)
    return {
        name.casefold(): _OWN_RELATIONS[relation]
        for name, relation in own.values_list("target__name", "relation")
    }


def backfill_graph(after: str | None = None) -> str | None:
    """Build relationships for the next `BATCH` facts without any; returns the last key while there are more.

    For facts stored before the graph, or a parsing rule, existed. One transaction per fact that names a
    relationship.
    """
    unread = Fact.objects.filter(relationships__isnull=True).order_by("pk")
    batch = list(unread.filter(pk__gt=after)[:BATCH] if after else unread[:BATCH])
    for fact in (fact for fact in batch if extract_relations(fact.kind, fact.text, fact.language)):
        with transaction.atomic():
            lock_memory(fact.owner_id)
            sync_fact(fact)
    return str(batch[-1].pk) if len(batch) == BATCH else None


def find_entities_without_vector(embedder_name: str) -> list[Entity]:
    """Return up to `BATCH` entities without a vector of this embedder."""
    return list(Entity.objects.exclude(embedder=embedder_name).only("name").order_by("pk")[:BATCH])


def store_entity_vectors(
    entities: Sequence[Entity], vectors: Sequence[NDArray[np.float32]], embedder_name: str
) -> None:
    """Store a float32 vector of shape (dimensions,) per entity. A name never changes."""
    for entity, vector in zip(entities, vectors, strict=True):
        entity.embedding, entity.embedder = vector.astype(np.float32).tobytes(), embedder_name
    Entity.objects.bulk_update(entities, ["embedding", "embedder"])


def _relationship_key(row: Relationship) -> tuple[str, str, str]:
    return (row.source.key if row.source else "", row.relation, row.target.key)


def _name_key(thing: EntityMention | None) -> str:
    return normalize_text(thing.name) if thing else ""


def _relation_key(tie: Relation) -> tuple[str, str, str]:
    return (_name_key(tie.source), tie.relation, _name_key(tie.target))


def _create_relationships(fact: Fact, new: Sequence[Relation], is_valid: bool) -> None:
    """Save relationships and the entities that are new with them, in at most four queries."""
    things = {_name_key(thing): thing for tie in new for thing in (tie.source, tie.target) if thing}
    known = _fetch_entities(fact.owner_id, things)
    for key, entity in known.items():
        _refine_type(entity, things[key])
    first = [
        Entity(owner_id=fact.owner_id, key=key, name=thing.name, type=thing.type)
        for key, thing in things.items()
        if key not in known
    ]
    if first:
        # A concurrent transaction may have created one of them.
        Entity.objects.bulk_create(first, ignore_conflicts=True)
        jobs.enqueue("reindex", {}, key="reindex")
        known = _fetch_entities(fact.owner_id, things)
    Relationship.objects.bulk_create(
        Relationship(
            owner_id=fact.owner_id,
            source=known[_name_key(tie.source)] if tie.source else None,
            target=known[_name_key(tie.target)],
            relation=tie.relation,
            valid=is_valid,
            source_fact=fact,
            created_at=fact.first_seen,
        )
        for tie in new
    )


def _fetch_entities(owner_id: Any, keys: Collection[str]) -> dict[str, Entity]:
    return {entity.key: entity for entity in Entity.objects.filter(owner=owner_id, key__in=keys)}


def _refine_type(entity: Entity, thing: EntityMention) -> None:
    """Set a more specific type on an entity that is only a concept so far."""
    if entity.type == "concept" != thing.type:
        entity.type = EntityType(thing.type)
        entity.save(update_fields=["type"])


def _set_valid(row: Relationship, valid: bool) -> None:
    if row.valid != valid:
        row.valid = valid
        row.save(update_fields=["valid"])
