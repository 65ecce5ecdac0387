"""Turns the edges of the entity graph into what its page shows: a picture, and the list beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from chat.memory.graph.layout import ORDER, Drawing, Frame, Link, Node, draw
from chat.memory.graph.tie import TypeName
from chat.models import Entity

from .graph_answers import Edge
from .graph_wording import brief

HEADINGS: dict[TypeName, Promise] = {
    "project": lazy("Projects"),
    "person": lazy("People and pets"),
    "tool": lazy("Tools"),
    "place": lazy("Places"),
    "concept": lazy("Things and topics"),
    "organisation": lazy("Organisations"),
}
# More than two ties under a name are in the list.
_NOTES = 2


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing with its words; `left_out` names are in the list only."""

    drawing: Drawing
    headings: Sequence[tuple[Any, Promise]]
    description: str
    left_out: int


class Net:
    """The edges by what they touch, the most connected things first and then those last spoken of."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self.edges = edges
        self.into: dict[UUID, list[Edge]] = defaultdict(list)
        self.out: dict[UUID, list[Edge]] = defaultdict(list)
        found: dict[UUID, Entity] = {}
        for edge in edges:
            found[edge.target.pk] = edge.target
            self.into[edge.target.pk].append(edge)
            if edge.source is not None:
                found[edge.source.pk] = edge.source
                self.out[edge.source.pk].append(edge)
        self.things = sorted(found.values(), key=self._rank)

    def of(self, thing: Entity) -> list[Edge]:
        """Return all edges that touch a thing."""
        return self.into[thing.pk] + self.out[thing.pk]

    def _rank(self, thing: Entity) -> tuple[int, float, str]:
        touching = self.of(thing)
        latest = max(edge.latest.timestamp() for edge in touching)
        return (-sum(edge.valid for edge in touching), -latest, thing.key)

    def picture(self, frame: Frame) -> Picture:
        """Return the picture for a frame."""
        drawing = draw([self._node(thing) for thing in self.things], self._links(), frame)
        names = ", ".join(box.node.name for box in drawing.boxes)
        return Picture(
            drawing,
            [(heading, HEADINGS[heading.type]) for heading in drawing.headings],
            _("You in the middle; around you %(names)s.") % {"names": names},
            len(self.things) - len(drawing.boxes),
        )

    def _node(self, thing: Entity) -> Node:
        # What the owner has to do with it comes before what others have.
        into = sorted(self.into[thing.pk], key=lambda edge: (not edge.valid, edge.source is not None))
        notes = [brief(edge.source.name if edge.source else "", edge.relation) for edge in into]
        note = " · ".join(list(dict.fromkeys(n for n in notes if n))[:_NOTES])
        # The column's choices are these names.
        type_ = cast("TypeName", thing.type)
        return Node(str(thing.pk), thing.name, note, type_, any(edge.valid for edge in self.of(thing)))

    def _links(self) -> list[Link]:
        held: dict[tuple[str | None, str], bool] = {}
        for edge in self.edges:
            key = (str(edge.source.pk) if edge.source else None, str(edge.target.pk))
            held[key] = held.get(key, False) or edge.valid
        return [Link(source, target, valid) for (source, target), valid in held.items()]

    def groups(self) -> list[dict[str, Any]]:
        """Return the list: each type's things, with the edges that lead to them or else those from them."""
        members: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for thing in self.things:
            members[thing.type].append({"entity": thing, "edges": self.into[thing.pk] or self.out[thing.pk]})
        return [
            {"type": type_, "label": HEADINGS[type_], "members": members[type_]}
            for type_ in ORDER
            if members[type_]
        ]
