"""Reads the entity graph: its edges, and answers to questions about them. Writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from chat.memory.graph.questions import Query, parse
from chat.memory.similar import normalise
from chat.models import Entity, Fact, Relationship

from .graph_wording import sentence

# What stands under an answer is for checking it, not for reading all.
_SOURCES = 12


@dataclass(slots=True)
class Edge:
    """One relation between two things, however many facts say so; `source` None is the owner."""

    source: Entity | None
    relation: str
    target: Entity
    valid: bool
    latest: datetime
    facts: list[Fact] = field(default_factory=list)
    # The panel's card that it leads to: its fact's own, or that of what took the fact's place.
    card: UUID | None = None

    @property
    def words(self) -> str:
        """Return the edge as a sentence without a full stop."""
        name = self.source.name if self.source else ""
        return sentence(name, self.relation, [self.target.name], self.valid)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the graph answers: a plain sentence and the edges that it stands on."""

    question: str
    sentence: str
    edges: Sequence[Edge] = ()
    understood: bool = True

    @property
    def sources(self) -> list[Edge]:
        """Return an edge for each memory that the answer stands on, as many as can be looked through."""
        first = {edge.facts[0].pk: edge for edge in reversed(self.edges)}
        return list(reversed(first.values()))[:_SOURCES]


def edges(owner: Any, wanted: Q | None = None) -> list[Edge]:
    """Return the owner's edges, those that hold first, then the latest; nothing that is being forgotten."""
    rows = (
        Relationship.objects.for_owner(owner)
        .visible()
        .select_related("source_fact")
        .defer("source_fact__embedding", "source_fact__quote")
    )
    if wanted is not None:
        rows = rows.filter(wanted)
    found: dict[tuple[UUID | None, str, UUID], Edge] = {}
    for row in rows:
        fact = row.source_fact
        key = (row.source_id, row.relation, row.target_id)
        edge = found.get(key)
        if edge is None:
            edge = found[key] = Edge(row.source, row.relation, row.target, row.valid, fact.last_seen)
        edge.valid = edge.valid or row.valid
        edge.latest = max(edge.latest, fact.last_seen)
        if fact not in edge.facts:
            edge.facts.insert(0 if row.valid else len(edge.facts), fact)
    _lead_to_cards(owner, found.values())
    return sorted(
        found.values(), key=lambda e: (not e.valid, -e.latest.timestamp(), e.source is not None, e.target.key)
    )


def _lead_to_cards(owner: Any, found: Collection[Edge]) -> None:
    facts = {fact.pk: fact for edge in found for fact in edge.facts}
    gone = {pk for pk, fact in facts.items() if fact.superseded_at or fact.archived_at}
    newer: dict[UUID | None, UUID] = {}
    live: set[UUID] = set()
    if gone:
        mine = Fact.objects.for_owner(owner)
        newer = dict(mine.filter(supersedes__isnull=False).values_list("supersedes", "pk"))
        live = set(mine.live().filter(pk__in=newer.values()).values_list("pk", flat=True))
    for edge in found:
        cards = (_stands_for(fact.pk, newer, live) if fact.pk in gone else fact.pk for fact in edge.facts)
        edge.card = next((card for card in cards if card is not None), None)


def _stands_for(gone: UUID, newer: dict[UUID | None, UUID], live: Collection[UUID]) -> UUID | None:
    """Return the live fact at the near end of the chain in which a replaced one stands."""
    at = newer.get(gone)
    for _step in newer:
        if at is None or at in live:
            return at
        at = newer.get(at)
    return None


def answer(owner: Any, question: str) -> Answer:
    """Answer a question from the owner's graph, or say that it is none that the graph can answer."""
    question = " ".join(question.split())
    query = parse(question)
    if not query.understood:
        said = _(
            "The graph cannot answer that. Ask what you like, use or work on, where you live, "
            "who is in your family, or about a name."
        )
        return Answer(question, said, understood=False)
    found = _about(owner, query) if query.subject else _of_owner(owner, query)
    said = _in_words(found) if found else _nothing(query)
    return Answer(question, said, found)


def _of_owner(owner: Any, query: Query) -> list[Edge]:
    wanted = Q(source__isnull=True)
    if query.relations:
        wanted &= Q(relation__in=query.relations)
    if query.types:
        wanted &= Q(target__type__in=query.types)
    found = edges(owner, wanted)
    return found if query.past else [edge for edge in found if edge.valid]


def _about(owner: Any, query: Query) -> list[Edge]:
    """Return what is known of a name: by its whole key, else by a name that it is a part of."""
    names = Entity.objects.for_owner(owner)
    key = normalise(query.subject)
    things = list(names.filter(key=key)) if key else []
    if not things and len(key) > 2:
        things = [e for e in names.filter(key__contains=key) if f" {key} " in f" {e.key} "]
    if not things:
        return []
    if query.relations:
        found = edges(owner, Q(source__in=things, relation__in=query.relations))
        return found if query.past else [edge for edge in found if edge.valid]
    # Whoever asks about a name wants to know what once held as well.
    return edges(owner, Q(source__in=things) | Q(target__in=things))


def _in_words(found: Iterable[Edge]) -> str:
    groups: dict[tuple[str, str, bool], list[str]] = {}
    for edge in found:
        source = edge.source.name if edge.source else ""
        groups.setdefault((source, edge.relation, edge.valid), []).append(edge.target.name)
    return " ".join(
        sentence(source, relation, targets, valid) + "."
        for (source, relation, valid), targets in groups.items()
    )


def _nothing(query: Query) -> str:
    if query.subject:
        return _("Nothing is remembered about “%(name)s”.") % {"name": query.subject}
    return _("Nothing is remembered about that yet.")
