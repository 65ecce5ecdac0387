"""Builds what the page of the entity graph shows: a picture of the most connected entities, and a list."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from chat.memory.graph.layout import ORDER, Drawing, Link, Node, PictureFormat, lay_out_graph
from chat.memory.graph.types import EntityType
from chat.models import Entity

from .graph_answers import GraphEdge
from .graph_wording import label_relation

HEADINGS: dict[EntityType, Promise] = {
    "project": lazy("Projects"),
    "person": lazy("People and pets"),
    "tool": lazy("Tools"),
    "place": lazy("Places"),
    "concept": lazy("Things and topics"),
    "organisation": lazy("Organisations"),
}
# The picture shows at most this many relations under an entity. The list below it shows all of them.
_MAX_LABELS = 2


@dataclass(frozen=True, slots=True)
class GraphPicture:
    """A drawing with translated headings and a description; `left_out` entities are in the list only."""

    drawing: Drawing
    headings: Sequence[tuple[Any, Promise]]
    description: str
    left_out: int


class EntityNetwork:
    """The edges by entity; `things` are the entities, those with the most valid edges first."""

    def __init__(self, edges: Sequence[GraphEdge]) -> None:
        self.edges = edges
        self.into: dict[UUID, list[GraphEdge]] = defaultdict(list)
        self.out: dict[UUID, list[GraphEdge]] = defaultdict(list)
        found: dict[UUID, Entity] = {}
        for edge in edges:
            found[edge.target.pk] = edge.target
            self.into[edge.target.pk].append(edge)
            if edge.source is not None:
                found[edge.source.pk] = edge.source
                self.out[edge.source.pk].append(edge)
        self.things = sorted(found.values(), key=self._rank)

    def get_edges(self, thing: Entity) -> list[GraphEdge]:
        """Return all edges from and to an entity."""
        return self.into[thing.pk] + self.out[thing.pk]

    def _rank(self, thing: Entity) -> tuple[int, float, str]:
        touching = self.get_edges(thing)
        latest = max(edge.latest.timestamp() for edge in touching)
        return (-sum(edge.valid for edge in touching), -latest, thing.key)

    def build_picture(self, frame: PictureFormat) -> GraphPicture:
        """Return the picture in a format such as WIDE or NARROW."""
        drawing = lay_out_graph([self._node(thing) for thing in self.things], self._links(), frame)
        names = ", ".join(box.node.name for box in drawing.boxes)
        return GraphPicture(
            drawing,
            [(heading, HEADINGS[heading.type]) for heading in drawing.headings],
            _("You in the middle; around you %(names)s.") % {"names": names},
            len(self.things) - len(drawing.boxes),
        )

    def _node(self, thing: Entity) -> Node:
        # Relations of the owner come before those of other entities.
        into = sorted(self.into[thing.pk], key=lambda edge: (not edge.valid, edge.source is not None))
        notes = [label_relation(edge.source.name if edge.source else "", edge.relation) for edge in into]
        note = " · ".join(list(dict.fromkeys(n for n in notes if n))[:_MAX_LABELS])
        # The choices of the database column are the values of EntityType.
        type_ = cast("EntityType", thing.type)
        return Node(str(thing.pk), thing.name, note, type_, any(edge.valid for edge in self.get_edges(thing)))

    def _links(self) -> list[Link]:
        held: dict[tuple[str | None, str], bool] = {}
        for edge in self.edges:
            key = (str(edge.source.pk) if edge.source else None, str(edge.target.pk))
            held[key] = held.get(key, False) or edge.valid
        return [Link(source, target, valid) for (source, target), valid in held.items()]

    def build_groups(self) -> list[dict[str, Any]]:
        """Return the list by entity type: each entity with the edges to it, or else the edges from it."""
        members: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for thing in self.things:
            members[thing.type].append({"entity": thing, "edges": self.into[thing.pk] or self.out[thing.pk]})
        return [
            {"type": type_, "label": HEADINGS[type_], "members": members[type_]}
            for type_ in ORDER
            if members[type_]
        ]
