"""The layout of the picture of the entity graph: the owner in the middle, a column of names on each side.

All lines run between the columns, so that no line crosses a name. Lengths are CSS pixels. The server does not
know the browser's font, so text widths are upper bounds: those of DejaVu Sans and Verdana, the widest common
system fonts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from .types import EntityType

# The order of the groups within a column and in the list.
ORDER: tuple[EntityType, ...] = ("project", "person", "tool", "place", "concept", "organisation")

# Font sizes of names and of the notes under them, as in the stylesheet.
FONT, SMALL = 13.0, 11.0
# This many nodes of each type are chosen before any others.
_MIN_PER_TYPE = 2
# Padding inside a box, height of a box, gap between boxes, height of a heading, gap between groups, outer
# margin.
_PAD, _BOX, _GAP, _HEAD, _BETWEEN, _MARGIN = 10.0, 40.0, 6.0, 22.0, 14.0, 8.0


@dataclass(frozen=True, slots=True)
class PictureFormat:
    """The width of the picture and of a column, the radius of the owner's circle, the maximum of names."""

    width: float
    column: float
    hub: float
    most: int


WIDE = PictureFormat(width=580, column=205, hub=34, most=28)
# Fits on a screen of 360 pixels with the margins of the page.
NARROW = PictureFormat(width=328, column=118, hub=23, most=16)


@dataclass(frozen=True, slots=True)
class Node:
    """An entity to draw; `note` names its relations, `valid` is false if it has former relations only."""

    key: str
    name: str
    note: str
    type: EntityType
    valid: bool = True


@dataclass(frozen=True, slots=True)
class Link:
    """A line between two nodes; `source` None is the owner."""

    source: str | None
    target: str
    valid: bool = True


@dataclass(frozen=True, slots=True)
class Box:
    """A node at its position; `x` and `y` are the upper left corner, `left` whether it is in the left column.

    `name` and `note` are the node's texts, cut to the width of the box.
    """

    node: Node
    x: float
    y: float
    width: float
    height: float
    left: bool
    name: str
    note: str

    @property
    def text_x(self) -> float:
        """Return the x coordinate of both texts."""
        return self.x + _PAD

    @property
    def name_y(self) -> float:
        """Return the base line of the name; it is lower where the box has no note."""
        return self.y + (17 if self.note else 24)

    @property
    def note_y(self) -> float:
        """Return the base line of the note."""
        return self.y + 32

    @property
    def port(self) -> tuple[float, float]:
        """Return where lines meet the box: the middle of the side towards the centre of the picture."""
        return (self.x + self.width if self.left else self.x, self.y + self.height / 2)


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a group, above its first box."""

    type: EntityType
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Curve:
    """A line as an SVG path; `type` is the entity type of its target."""

    path: str
    type: EntityType
    valid: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """The whole picture; its width is that of the format."""

    frame: PictureFormat
    height: float
    boxes: Sequence[Box]
    headings: Sequence[Heading]
    curves: Sequence[Curve]

    @property
    def hub(self) -> tuple[float, float]:
        """Return the position of the owner's circle."""
        return self.frame.width / 2, self.height / 2


def lay_out_graph(nodes: Sequence[Node], links: Sequence[Link], frame: PictureFormat) -> Drawing:
    """Return the picture of the nodes that `choose_nodes` selects, and of the links between them."""
    shown = choose_nodes(nodes, frame.most)
    groups = [[n for n in shown if n.type == type_] for type_ in ORDER]
    sides = _split_into_columns([group for group in groups if group])
    height = max(180.0, 2 * _MARGIN + max(_measure_height(side) for side in sides))
    boxes: list[Box] = []
    headings: list[Heading] = []
    for left, side in zip((True, False), sides, strict=True):
        _place_column(side, left, (height - _measure_height(side)) / 2, frame, boxes, headings)
    drawing = Drawing(frame, height, boxes, headings, ())
    return Drawing(frame, height, boxes, headings, _draw_curves(drawing, links))


def choose_nodes(nodes: Sequence[Node], most: int) -> list[Node]:
    """Return at most `most` nodes in their order, the first two of each type before the third of any type."""
    seen: dict[EntityType, int] = {}
    turn: list[tuple[bool, int]] = []
    for i, node in enumerate(nodes):
        seen[node.type] = seen.get(node.type, 0) + 1
        turn.append((seen[node.type] > _MIN_PER_TYPE, i))
    return [nodes[i] for i in sorted(i for _late, i in sorted(turn)[:most])]


def _split_into_columns(groups: list[list[Node]]) -> tuple[list[list[Node]], list[list[Node]]]:
    """Return the groups of the left and of the right column; the longest groups are assigned first."""
    left: list[list[Node]] = []
    right: list[list[Node]] = []
    for group in sorted(groups, key=len, reverse=True):
        (left if _measure_height(left) <= _measure_height(right) else right).append(group)
    order = {type_: i for i, type_ in enumerate(ORDER)}
    for side in (left, right):
        side.sort(key=lambda group: order[group[0].type])
    return left, right


def _measure_height(side: list[list[Node]]) -> float:
    if not side:
        return 0.0
    names = sum(_HEAD + len(group) * _BOX + (len(group) - 1) * _GAP for group in side)
    return names + (len(side) - 1) * _BETWEEN


def _place_column(
    side: list[list[Node]],
    left: bool,
    top: float,
    frame: PictureFormat,
    boxes: list[Box],
    headings: list[Heading],
) -> None:
    x = _MARGIN if left else frame.width - _MARGIN - frame.column
    room = frame.column - 2 * _PAD
    for group in side:
        headings.append(Heading(group[0].type, x + 2, top + _HEAD - 8))
        top += _HEAD
        for node in group:
            name, note = fit_text(node.name, room, FONT), fit_text(node.note, room, SMALL)
            boxes.append(Box(node, x, top, frame.column, _BOX, left, name, note))
            top += _BOX + _GAP
        top += _BETWEEN - _GAP


def _draw_curves(drawing: Drawing, links: Sequence[Link]) -> list[Curve]:
    at = {box.node.key: box for box in drawing.boxes}
    middle, centre = drawing.hub
    found = []
    for link in links:
        target = at.get(link.target)
        source = at.get(link.source) if link.source else None
        if target is None or (link.source and source is None):
            continue
        x, y = target.port
        if source is None:
            start = middle + (-1 if target.left else 1) * drawing.frame.hub
            bend = (start + x) / 2
            path = f"M{start:.1f} {centre:.1f}C{bend:.1f} {centre:.1f} {bend:.1f} {y:.1f} {x:.1f} {y:.1f}"
        else:
            a, b = source.port
            # The curve bends into the space between the columns and back, so that it crosses no column.
            reach = 0.32 * (drawing.frame.width - 2 * (drawing.frame.column + _MARGIN))
            near = a + (reach if source.left else -reach)
            far = x + (reach if target.left else -reach)
            path = f"M{a:.1f} {b:.1f}C{near:.1f} {b:.1f} {far:.1f} {y:.1f} {x:.1f} {y:.1f}"
        found.append(Curve(path, target.node.type, link.valid))
    return found


_NARROW = frozenset("ijl.,:;'|/ ")
_SLIM = frozenset('ftr()[]-"!')
_BROAD = frozenset("@%&…—–mwMWŵŴ©®ÆæŒœ#+<=>^~±×÷¬½¼¾жфшщюљњωώ")
# Characters before this one are Latin letters and their variants.
_LATIN_END = "\u0250"


def measure_text_width(text: str, size: float) -> float:
    """Return an upper bound of the width of a text in a system font of `size` pixels, in pixels."""
    return sum(_get_width_in_ems(char) for char in text) * size


def fit_text(text: str, room: float, size: float) -> str:
    """Return the text, cut and ended with an ellipsis where it may be wider than `room` pixels."""
    if measure_text_width(text, size) <= room:
        return text
    room -= measure_text_width("…", size)
    kept = ""
    for char in text:
        room -= _get_width_in_ems(char) * size
        if room < 0:
            break
        kept += char
    return kept.rstrip() + "…"


def _get_width_in_ems(char: str) -> float:
    if char in _NARROW:
        return 0.34
    if char in _SLIM:
        return 0.47
    if char in _BROAD:
        return 1.03
    if char < _LATIN_END:
        return 0.8 if char.isupper() else 0.65
    if unicodedata.combining(char):
        return 0.0
    return 0.8 if char.islower() else 1.1
