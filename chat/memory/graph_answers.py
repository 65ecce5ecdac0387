"""Reads the entity graph from the database: its edges, and answers to questions. Writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
from django.db.models import Q
from django.utils.translation import gettext as _

from chat.memory.cosines import get_thresholds
from chat.memory.graph.questions import GraphQuery, parse_question
from chat.memory.text_similarity import compute_cosine, normalize_text
from chat.models import Entity, Fact, Relationship, User

from .graph_wording import describe_relation

if TYPE_CHECKING:
    from chat.llm.embedder import Embedder

# The maximum number of facts that an answer cites.
_MAX_SOURCES = 12


@dataclass(slots=True)
class GraphEdge:
    """One relation between two entities, with all facts that state it; `source` None is the owner.

    `valid` is false if no live fact states the relation; `latest` is when a fact with it was last seen.
    """

    source: Entity | None
    relation: str
    target: Entity
    valid: bool
    latest: datetime
    facts: list[Fact] = field(default_factory=list)
    # The id of the live fact whose card the edge links to: its own fact, or the fact that superseded it.
    card: UUID | None = None

    @property
    def words(self) -> str:
        """Return the edge as a sentence without a full stop."""
        name = self.source.name if self.source else ""
        return describe_relation(name, self.relation, [self.target.name], self.valid)


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """The answer to a question: a sentence, and the edges that support it."""

    question: str
    sentence: str
    edges: Sequence[GraphEdge] = ()
    understood: bool = True

    @property
    def sources(self) -> list[GraphEdge]:
        """Return one edge for each fact that supports the answer, at most _MAX_SOURCES."""
        first = {edge.facts[0].pk: edge for edge in reversed(self.edges)}
        return list(reversed(first.values()))[:_MAX_SOURCES]


def load_edges(owner: User, wanted: Q | None = None) -> list[GraphEdge]:
    """Return the owner's edges that match `wanted`, valid ones first, then by `latest`, newest first.

    Relations of facts whose deletion is pending are left out.
    """
    rows = (
        Relationship.objects.for_owner(owner)
        .visible()
        .select_related("source_fact")
        .defer("source_fact__embedding", "source_fact__quote")
    )
    if wanted is not None:
        rows = rows.filter(wanted)
    found: dict[tuple[UUID | None, str, UUID], GraphEdge] = {}
    for row in rows:
        fact = row.source_fact
        key = (row.source_id, row.relation, row.target_id)
        edge = found.get(key)
        if edge is None:
            edge = found[key] = GraphEdge(row.source, row.relation, row.target, row.valid, fact.last_seen)
        edge.valid = edge.valid or row.valid
        edge.latest = max(edge.latest, fact.last_seen)
        if fact not in edge.facts:
            edge.facts.insert(0 if row.valid else len(edge.facts), fact)
    _link_to_cards(owner, found.values())
    return sorted(
        found.values(), key=lambda e: (not e.valid, -e.latest.timestamp(), e.source is not None, e.target.key)
    )


def _link_to_cards(owner: User, found: Collection[GraphEdge]) -> None:
    """Set `card` of each edge to a live fact, if there is one."""
    facts = {fact.pk: fact for edge in found for fact in edge.facts}
    not_live = {pk for pk, fact in facts.items() if fact.superseded_at or fact.archived_at}
    successors: dict[UUID | None, UUID] = {}
    live: set[UUID] = set()
    if not_live:
        of_owner = Fact.objects.for_owner(owner)
        successors = dict(of_owner.filter(supersedes__isnull=False).values_list("supersedes", "pk"))
        live = set(of_owner.live().filter(pk__in=successors.values()).values_list("pk", flat=True))
    for edge in found:
        cards = (
            _find_live_successor(fact.pk, successors, live) if fact.pk in not_live else fact.pk
            for fact in edge.facts
        )
        edge.card = next((card for card in cards if card is not None), None)


def _find_live_successor(
    fact: UUID, successors: dict[UUID | None, UUID], live: Collection[UUID]
) -> UUID | None:
    """Return the first live fact in the chain of facts that superseded this one; None if there is none."""
    current = successors.get(fact)
    # At most as many steps as there are successors, in case the chain is a cycle.
    for _step in successors:
        if current is None or current in live:
            return current
        current = successors.get(current)
    return None


def answer_question(owner: User, question: str, embedder: Embedder | None = None) -> GraphAnswer:
    """Answer a question from the owner's graph; `understood` is false if the question is not recognised.

    With an embedder, an unknown name means the entity that is nearest by meaning, if one is near.
    """
    question = " ".join(question.split())
    query = parse_question(question)
    if not query.understood:
        text = _(
            "The graph cannot answer that. Ask what you like, use or work on, where you live, "
            "who is in your family, or about a name."
        )
        return GraphAnswer(question, text, understood=False)
    found = (
        _find_edges_of_name(owner, query, embedder) if query.subject else _find_edges_of_owner(owner, query)
    )
    text = _describe_edges(found) if found else _describe_nothing_found(query)
    return GraphAnswer(question, text, found)


def _find_edges_of_owner(owner: User, query: GraphQuery) -> list[GraphEdge]:
    wanted = Q(source__isnull=True)
    if query.relations:
        wanted &= Q(relation__in=query.relations)
    if query.types:
        wanted &= Q(target__type__in=query.types)
    found = load_edges(owner, wanted)
    return found if query.past else [edge for edge in found if edge.valid]


def _find_edges_of_name(owner: User, query: GraphQuery, embedder: Embedder | None) -> list[GraphEdge]:
    """Return the edges of the entity with the asked name, else of entities whose name contains it, else of
    the entity nearest by meaning.
    """
    names = Entity.objects.for_owner(owner)
    key = normalize_text(query.subject)
    entities = list(names.filter(key=key)) if key else []
    if not entities and len(key) > 2:
        entities = [e for e in names.filter(key__contains=key) if f" {key} " in f" {e.key} "]
    if not entities and embedder is not None:
        entities = _find_nearest_entity(owner, query.subject, embedder)
    if not entities:
        return []
    if query.relations:
        found = load_edges(owner, Q(source__in=entities, relation__in=query.relations))
        return found if query.past else [edge for edge in found if edge.valid]
    # A question about a name is answered with former relations too.
    return load_edges(owner, Q(source__in=entities) | Q(target__in=entities))


def _find_nearest_entity(owner: User, name: str, embedder: Embedder) -> list[Entity]:
    entities = list(Entity.objects.for_owner(owner).filter(embedder=embedder.name))
    vector = embedder.embed([name])[0]
    scored = [
        (compute_cosine(vector, np.frombuffer(bytes(entity.embedding), np.float32)), entity)
        for entity in entities
        if entity.embedding
    ]
    best, nearest = max(scored, key=lambda item: item[0], default=(0.0, None))
    return [nearest] if nearest is not None and best >= get_thresholds(embedder.name).entity else []


def _describe_edges(found: Iterable[GraphEdge]) -> str:
    groups: dict[tuple[str, str, bool], list[str]] = {}
    for edge in found:
        source = edge.source.name if edge.source else ""
        groups.setdefault((source, edge.relation, edge.valid), []).append(edge.target.name)
    return " ".join(
        describe_relation(source, relation, targets, valid) + "."
        for (source, relation, valid), targets in groups.items()
    )


def _describe_nothing_found(query: GraphQuery) -> str:
    if query.subject:
        return _("Nothing is remembered about “%(name)s”.") % {"name": query.subject}
    return _("Nothing is remembered about that yet.")
