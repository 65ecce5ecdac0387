"""The entity graph: what facts speak of, how it hangs together, and questions to it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from chat.memory.graph_answers import Edge, answer, edges
from chat.models import Entity, EntityType, Relationship
from chat.models.base import OwnedQuerySet

from .common import Limit, Offset, Page, Request, page

router = Router(tags=["graph"])
questions = Router(tags=["graph"])


class EntityOut(Schema):
    """Something that facts speak of."""

    id: UUID
    name: str
    type: EntityType
    created_at: datetime


class EdgeOut(Schema):
    """How one thing is tied to another; `source` null is the owner. What no longer holds is not `valid`."""

    source: EntityOut | None
    relation: str
    target: EntityOut
    valid: bool
    sentence: str
    facts: list[UUID] = Field(description="The facts that say so.")
    last_seen: datetime


class EntityWithEdges(EntityOut):
    """An entity and all that it is tied to."""

    edges: list[EdgeOut]


class AnswerOut(Schema):
    """What the graph answers, and the edges that it stands on."""

    question: str
    answer: str
    understood: bool
    edges: list[EdgeOut]


def entity_out(entity: Entity) -> EntityOut:
    """Tell an entity."""
    return EntityOut(
        id=entity.pk, name=entity.name, type=EntityType(entity.type), created_at=entity.created_at
    )


def _edges_out(found: Iterable[Edge]) -> list[EdgeOut]:
    return [
        EdgeOut(
            source=entity_out(edge.source) if edge.source else None,
            relation=edge.relation,
            target=entity_out(edge.target),
            valid=edge.valid,
            sentence=edge.words,
            facts=[fact.pk for fact in edge.facts],
            last_seen=edge.latest,
        )
        for edge in found
    ]


@router.get("", response=Page[EntityOut])
def list_entities(
    request: Request,
    type: EntityType | None = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Page[EntityOut]:
    """List what the owner's facts speak of, by name."""
    rows = _seen(request).order_by("key")
    if type is not None:
        rows = rows.filter(type=type)
    return page(request, rows, entity_out, limit, offset)


@router.get("/{entity_id}", response=EntityWithEdges)
def get_entity(request: Request, entity_id: UUID) -> EntityWithEdges:
    """Tell one entity and all that it is tied to, what no longer holds last."""
    found = get_object_or_404(_seen(request), pk=entity_id)
    tied = edges(request.auth, Q(source=found) | Q(target=found))
    return EntityWithEdges(**entity_out(found).model_dump(), edges=_edges_out(tied))


@questions.get("", response=AnswerOut)
def ask_graph(
    request: Request,
    q: Annotated[str, Query(min_length=1, max_length=200, examples=["What tools do I like?"])],
) -> AnswerOut:
    """Answer a question from the graph, without a model."""
    found = answer(request.auth, q)
    return AnswerOut(
        question=found.question,
        answer=found.sentence,
        understood=found.understood,
        edges=_edges_out(found.edges),
    )


@questions.get("/edges", response=Page[EdgeOut])
def list_edges(request: Request, limit: Limit = 20, offset: Offset = 0) -> Page[EdgeOut]:
    """List all ties, those that hold first."""
    return page(request, _edges_out(edges(request.auth)), lambda edge: edge, limit, offset)


def _seen(request: Request) -> OwnedQuerySet[Entity]:
    """Return the owner's entities, but for those that only facts on their way out speak of."""
    tied = Relationship.objects.visible().filter(Q(source=OuterRef("pk")) | Q(target=OuterRef("pk")))
    return Entity.objects.for_owner(request.auth).filter(Exists(tied))
