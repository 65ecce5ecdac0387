"""Where the picture of the graph puts things: the owner in the middle, a column of names on each side.

All links run in the channel between the columns, so that no line crosses a name. Lengths are CSS pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .tie import TypeName
from .widths import fitted

# The order of the groups, and the side they begin on when both are as long.
ORDER: tuple[TypeName, ...] = ("project", "person", "tool", "place", "concept", "organisation")

FONT, SMALL = 13.0, 11.0
_OF_EACH = 2
_PAD, _BOX, _GAP, _HEAD, _BETWEEN, _MARGIN = 10.0, 40.0, 6.0, 22.0, 14.0, 8.0


@dataclass(frozen=True, slots=True)
class Frame:
    """How wide the picture is, how wide a name may be, and how many names stay readable."""

    width: float
    column: float
    hub: float
    most: int


WIDE = Frame(width=580, column=205, hub=34, most=28)
# Fits a screen of 360 pixels beside the page's own margins.
NARROW = Frame(width=328, column=118, hub=23, most=16)


@dataclass(frozen=True, slots=True)
class Node:
    """A thing to draw: its name, a few words on what ties it, and whether any of that still holds."""

    key: str
    name: str
    note: str
    type: TypeName
    valid: bool = True


@dataclass(frozen=True, slots=True)
class Link:
    """A line between two nodes; `source` None is the owner."""

    source: str | None
    target: str
    valid: bool = True


@dataclass(frozen=True, slots=True)
class Box:
    """A name in its place; `x` and `y` are the upper left corner."""

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
        """Return where the text begins."""
        return self.x + _PAD

    @property
    def name_y(self) -> float:
        """Return the base line of the name, lower where nothing stands under it."""
        return self.y + (17 if self.note else 24)

    @property
    def note_y(self) -> float:
        """Return the base line of the words under the name."""
        return self.y + 32

    @property
    def port(self) -> tuple[float, float]:
        """Return where lines meet the box: in the middle of its inner side."""
        return (self.x + self.width if self.left else self.x, self.y + self.height / 2)


@dataclass(frozen=True, slots=True)
class Heading:
    """The name of a group over its first box."""

    type: TypeName
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Curve:
    """A line as an SVG path."""

    path: str
    type: TypeName
    valid: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """The whole picture."""

    frame: Frame
    height: float
    boxes: Sequence[Box]
    headings: Sequence[Heading]
    curves: Sequence[Curve]

    @property
    def hub(self) -> tuple[float, float]:
        """Return the owner's place."""
        return self.frame.width / 2, self.height / 2


def draw(nodes: Sequence[Node], links: Sequence[Link], frame: Frame) -> Drawing:
    """Place as many nodes as `choose` leaves, and the links between those."""
    shown = choose(nodes, frame.most)
    groups = [[n for n in shown if n.type == type_] for type_ in ORDER]
    sides = _sides([group for group in groups if group])
    height = max(180.0, 2 * _MARGIN + max(_length(side) for side in sides))
    boxes: list[Box] = []
    headings: list[Heading] = []
    for left, side in zip((True, False), sides, strict=True):
        _stack(side, left, (height - _length(side)) / 2, frame, boxes, headings)
    drawing = Drawing(frame, height, boxes, headings, ())
    return Drawing(frame, height, boxes, headings, _curves(drawing, links))


def choose(nodes: Sequence[Node], most: int) -> list[Node]:
    """Return the first nodes, but the best two of each type before a third of any."""
    seen: dict[TypeName, int] = {}
    turn: list[tuple[bool, int]] = []
    for i, node in enumerate(nodes):
        seen[node.type] = seen.get(node.type, 0) + 1
        turn.append((seen[node.type] > _OF_EACH, i))
    return [nodes[i] for i in sorted(i for _late, i in sorted(turn)[:most])]


def _sides(groups: list[list[Node]]) -> tuple[list[list[Node]], list[list[Node]]]:
    """Return the groups of the left and of the right column, the longest first to the shorter side."""
    left: list[list[Node]] = []
    right: list[list[Node]] = []
    for group in sorted(groups, key=len, reverse=True):
        (left if _length(left) <= _length(right) else right).append(group)
    order = {type_: i for i, type_ in enumerate(ORDER)}
    for side in (left, right):
        side.sort(key=lambda group: order[group[0].type])
    return left, right


def _length(side: list[list[Node]]) -> float:
    if not side:
        return 0.0
    names = sum(_HEAD + len(group) * _BOX + (len(group) - 1) * _GAP for group in side)
    return names + (len(side) - 1) * _BETWEEN


def _stack(
    side: list[list[Node]], left: bool, top: float, frame: Frame, boxes: list[Box], headings: list[Heading]
) -> None:
    x = _MARGIN if left else frame.width - _MARGIN - frame.column
    room = frame.column - 2 * _PAD
    for group in side:
        headings.append(Heading(group[0].type, x + 2, top + _HEAD - 8))
        top += _HEAD
        for node in group:
            name, note = fitted(node.name, room, FONT), fitted(node.note, room, SMALL)
            boxes.append(Box(node, x, top, frame.column, _BOX, left, name, note))
            top += _BOX + _GAP
        top += _BETWEEN - _GAP


def _curves(drawing: Drawing, links: Sequence[Link]) -> list[Curve]:
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
            # Out into the channel and back: neither column is crossed.
            reach = 0.32 * (drawing.frame.width - 2 * (drawing.frame.column + _MARGIN))
            near = a + (reach if source.left else -reach)
            far = x + (reach if target.left else -reach)
            path = f"M{a:.1f} {b:.1f}C{near:.1f} {b:.1f} {far:.1f} {y:.1f} {x:.1f} {y:.1f}"
        found.append(Curve(path, target.node.type, link.valid))
    return found
