"""The entity graph: entities, their connections, and questions about them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from chat.llm.registry import registry
from chat.memory.graph_answers import GraphEdge, answer_question, load_edges
from chat.models import Entity, EntityType, Relationship
from chat.models.base import OwnedQuerySet

from .common import ApiRequest, Limit, Offset, Page, paginate

router = Router(tags=["graph"])
questions = Router(tags=["graph"])


class EntityOut(Schema):
    """An entity that facts mention."""

    id: UUID
    name: str
    type: EntityType
    created_at: datetime


class EdgeOut(Schema):
    """A relationship of two entities; `source` null is the owner. An outdated one is not `valid`."""

    source: EntityOut | None
    relation: str
    target: EntityOut
    valid: bool
    sentence: str
    facts: list[UUID] = Field(description="The facts that state it.")
    last_seen: datetime


class EntityWithEdges(EntityOut):
    """An entity and its edges."""

    edges: list[EdgeOut]


class AnswerOut(Schema):
    """The answer to a question, and the edges that it is based on."""

    question: str
    answer: str
    understood: bool
    edges: list[EdgeOut]


def build_entity(entity: Entity) -> EntityOut:
    """Return an entity as clients see it."""
    return EntityOut(
        id=entity.pk, name=entity.name, type=EntityType(entity.type), created_at=entity.created_at
    )


def _build_edges(found: Iterable[GraphEdge]) -> list[EdgeOut]:
    return [
        EdgeOut(
            source=build_entity(edge.source) if edge.source else None,
            relation=edge.relation,
            target=build_entity(edge.target),
            valid=edge.valid,
            sentence=edge.words,
            facts=[fact.pk for fact in edge.facts],
            last_seen=edge.latest,
        )
        for edge in found
    ]


@router.get("", response=Page[EntityOut])
def list_entities(
    request: ApiRequest,
    type: EntityType | None = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Page[EntityOut]:
    """List the entities in the owner's facts, by name."""
    rows = _visible_entities(request).order_by("key")
    if type is not None:
        rows = rows.filter(type=type)
    return paginate(request, rows, build_entity, limit, offset)


@router.get("/{entity_id}", response=EntityWithEdges)
def get_entity(request: ApiRequest, entity_id: UUID) -> EntityWithEdges:
    """Return one entity and its edges, outdated ones last."""
    found = get_object_or_404(_visible_entities(request), pk=entity_id)
    tied = load_edges(request.auth, Q(source=found) | Q(target=found))
    return EntityWithEdges(**build_entity(found).model_dump(), edges=_build_edges(tied))


@questions.get("", response=AnswerOut)
def ask_graph(
    request: ApiRequest,
    q: Annotated[str, Query(min_length=1, max_length=200, examples=["What tools do I like?"])],
) -> AnswerOut:
    """Answer a question from the graph, without a model."""
    found = answer_question(request.auth, q, registry.embedder())
    return AnswerOut(
        question=found.question,
        answer=found.sentence,
        understood=found.understood,
        edges=_build_edges(found.edges),
    )


@questions.get("/edges", response=Page[EdgeOut])
def list_edges(request: ApiRequest, limit: Limit = 20, offset: Offset = 0) -> Page[EdgeOut]:
    """List all edges, valid ones first."""
    return paginate(request, _build_edges(load_edges(request.auth)), lambda edge: edge, limit, offset)


def _visible_entities(request: ApiRequest) -> OwnedQuerySet[Entity]:
    """Return the owner's entities, without those that only facts being deleted mention."""
    tied = Relationship.objects.visible().filter(Q(source=OuterRef("pk")) | Q(target=OuterRef("pk")))
    return Entity.objects.for_owner(request.auth).filter(Exists(tied))
