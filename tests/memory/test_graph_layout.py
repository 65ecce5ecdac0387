"""The picture of the graph: no names overlap and all are inside it, whatever their number and length."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.graph.layout import (
    FONT,
    NARROW,
    ORDER,
    WIDE,
    Link,
    Node,
    fit_text,
    lay_out_graph,
    measure_text_width,
)

names = st.text(min_size=1, max_size=60)
things = st.lists(
    st.builds(Node, key=st.uuids().map(str), name=names, note=names, type=st.sampled_from(ORDER)),
    max_size=70,
    unique_by=lambda node: node.key,
)
frames = pytest.mark.parametrize("frame", [WIDE, NARROW], ids=["wide", "narrow"])


def are_apart(a, b) -> bool:
    return a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y


@frames
@given(nodes=things)
def test_no_two_names_overlap_and_all_are_inside(frame, nodes):
    drawing = lay_out_graph(nodes, [], frame)
    assert len(drawing.boxes) == min(len(nodes), frame.most)
    for box in drawing.boxes:
        assert box.x >= 0
        assert box.x + box.width <= frame.width
        assert box.y >= 0
        assert box.y + box.height <= drawing.height
    assert all(are_apart(a, b) for a, b in combinations(drawing.boxes, 2))


@frames
@given(nodes=things)
def test_no_heading_stands_in_a_box_and_the_owner_is_between_the_columns(frame, nodes):
    drawing = lay_out_graph(nodes, [], frame)
    x, y = drawing.hub
    for box in drawing.boxes:
        assert box.x + box.width < x - frame.hub or box.x > x + frame.hub
        for heading in drawing.headings:
            assert not (box.x <= heading.x <= box.x + box.width and box.y < heading.y < box.y + box.height)
    assert frame.hub <= y <= drawing.height - frame.hub


@given(text=names, room=st.floats(min_value=30, max_value=300))
def test_a_text_is_cut_to_its_width(text, room):
    assert measure_text_width(fit_text(text, room, FONT), FONT) <= room


@pytest.mark.parametrize(
    ("text", "ems"),
    [
        ("Instrument13 Profession…", 13.25),
        ("Düsseldorf, Nordstraße 45", 13.16),
        ("Владимир Щукин", 9.23),
        ("@home + 100 %", 8.49),
    ],
)
def test_the_upper_bounds_are_at_least_the_widths_of_the_widest_font(text, ems):
    """The right values are the advance widths of DejaVu Sans, summed."""
    assert ems <= measure_text_width(text, 1) <= 1.25 * ems


@frames
def test_only_links_between_drawn_nodes_are_drawn(frame):
    nodes = [Node(str(i), f"Name {i}", "", ORDER[i % 6]) for i in range(60)]
    links = [Link(None, "0"), Link("0", "1"), Link(None, "59", valid=False), Link("59", "0")]
    assert len(lay_out_graph(nodes, links, frame).curves) == 2


@frames
@given(nodes=things, pairs=st.lists(st.tuples(st.integers(0, 69), st.integers(0, 69)), max_size=20))
def test_lines_stay_between_the_columns(frame, nodes, pairs):
    keys = [n.key for n in nodes]
    links = [Link(keys[a], keys[b]) for a, b in pairs if a < len(keys) and b < len(keys)]
    for curve in lay_out_graph(nodes, links, frame).curves:
        numbers = [float(n) for n in curve.path.replace("M", "").replace("C", " ").split()]
        for x in numbers[::2]:
            assert frame.column <= x <= frame.width - frame.column


def test_each_type_keeps_its_first_two_nodes():
    tools = [Node(f"t{i}", f"Tool {i}", "", "tool") for i in range(40)]
    drawing = lay_out_graph([*tools, Node("h", "Home", "", "place")], [], NARROW)
    assert [box.node.key for box in drawing.boxes if box.node.type == "place"] == ["h"]
    assert [box.node.key for box in drawing.boxes if box.node.type == "tool"] == [
        f"t{i}" for i in range(NARROW.most - 1)
    ]


def test_without_nodes_only_the_owner_is_drawn():
    assert lay_out_graph([], [], WIDE).boxes == []
