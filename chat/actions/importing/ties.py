"""The graph that comes in: entities by their names, relationships of the facts that are new."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from chat.memory.similar import normalise
from chat.models import Entity, Relationship
from chat.porting.shapes import GraphIn

from .keys import found, own_keys

_LONGEST = 120  # Entity.key


def add_ties(
    owner: Any, given: GraphIn, facts: dict[UUID, UUID], new: set[UUID], over: Collection[UUID]
) -> set[UUID]:
    """Write the relationships of new facts, with what they tie; in the caller's transaction.

    `facts` are the keys under which facts are here; what those of `over` tie holds no more. Returns the new
    facts of which the file ties nothing: the graph has to read them itself.
    """
    ties = [tie for tie in given.relationships if tie.source_fact in new]
    ends = {key for tie in ties for key in (tie.source, tie.target) if key is not None}
    things = [thing for thing in given.entities if thing.id in ends]
    keys = _entities(owner, things)
    whole = [tie for tie in ties if tie.target in keys and (tie.source is None or tie.source in keys)]
    own = own_keys(Relationship, owner, [tie.id for tie in whole])
    there = {pk for (pk,) in found(Relationship.objects.all(), "pk", own.values(), "pk")}
    Relationship.objects.bulk_create(
        Relationship(
            pk=own[tie.id],
            owner=owner,
            source_id=keys[tie.source] if tie.source else None,
            target_id=keys[tie.target],
            relation=tie.relation,
            valid=tie.valid and tie.source_fact not in over,
            source_fact_id=facts[tie.source_fact],
            created_at=tie.created_at,
        )
        for tie in whole
        if own[tie.id] not in there
    )
    return new - {tie.source_fact for tie in whole}


def _entities(owner: Any, things: Any) -> dict[UUID, UUID]:
    """Return the keys here of these entities, those made that no name of here stands for."""
    own = own_keys(Entity, owner, [thing.id for thing in things])
    named = {thing.id: normalise(thing.name)[:_LONGEST] for thing in things}
    names = set(named.values())
    known = dict(found(Entity.objects.for_owner(owner), "key", names, "key", "pk"))
    taken = {pk for (pk,) in found(Entity.objects.all(), "pk", own.values(), "pk")}
    fresh = []
    for thing in things:
        name = named[thing.id]
        if name and name not in known and own[thing.id] not in taken:
            known[name] = own[thing.id]
            fresh.append(
                Entity(
                    pk=own[thing.id],
                    owner=owner,
                    name=thing.name,
                    key=name,
                    type=thing.type,
                    created_at=thing.created_at,
                )
            )
    Entity.objects.bulk_create(fresh)
    return {key: known[name] for key, name in named.items() if name in known}
