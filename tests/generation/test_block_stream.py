"""Streaming a reply in pieces renders the same blocks as rendering the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.generation.block_stream import BlockStream
from chat.generation.markdown import render_blocks

# Markdown block markers, complete and in parts, so that pieces can end inside a marker.
_MARKS = [
    *("# ", "#", "a", "b ", "- ", "-", "1. ", "1", "* ", "> ", "```", "`", "~~~", "    ", "\t", "|", "  "),
    *("a | b\n", "--- | ---", "---", "===", "***", "**", "_", "+ ", "2) ", "[a]", "[a]: http://x\n", "[a]: "),
    *("\n", "\n\n", "\r\n", "\r", "\x0b", "\x0c", "\u2028", "\x85", "<b>", "py\n", "é", "\x00"),
]
pieces = st.lists(st.sampled_from(_MARKS) | st.text(st.characters(exclude_categories=["Cs"])), max_size=14)


def feed_all(parts: list[str]) -> BlockStream:
    stream = BlockStream()
    for part in parts:
        stream.feed(part)
    return stream


@settings(max_examples=400)
@given(pieces)
def test_any_text_in_any_pieces_gives_the_blocks_of_the_whole(parts):
    assert feed_all(parts).blocks == render_blocks("".join(parts))


@settings(max_examples=150)
@given(pieces)
def test_applying_only_the_reported_blocks_gives_the_same_page(parts):
    stream = BlockStream()
    shown: list[str] = []
    for part in parts:
        first = stream.feed(part)
        if first is not None:
            shown[first:] = stream.blocks[first:]
    assert shown == stream.blocks


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(["a\n", "#", "b"], id="a hash that becomes a tag"),
        pytest.param(["x\n", "a | b\n--- | ---", "x"], id="a table that is none"),
        pytest.param(["See [a].\n\n", "More.\n\n", "[a]: http://x\n"], id="a link defined after its use"),
        pytest.param(["[a]: http://x\n\n", "Text.\n\n", "See [a].\n"], id="a link defined before its use"),
        pytest.param(["1. a\n\n", "1", ". b\n\n", "2. c\n"], id="a list that goes on after a blank line"),
        pytest.param(["- a\n\n", "  more\n\n", "- b\n", "\nEnd"], id="a loose list"),
        pytest.param(["```\na\n```", "x\n", "```\n\nEnd"], id="a fence that is not closed yet"),
        pytest.param(["a\n", "***", "b** c"], id="a rule that becomes bold text"),
        pytest.param(["a\u2028b\n\n", "c\n\n", "d"], id="a separator that ends no line"),
        pytest.param(["a\r", "\nb\r\n\r", "\nc"], id="a line ending in two pieces"),
        pytest.param(["Text\n", "\n", "\n", "\n"], id="blank lines at the end"),
    ],
)
def test_blocks_change_when_later_text_changes_their_meaning(parts):
    assert feed_all(parts).blocks == render_blocks("".join(parts))


def test_a_settled_block_is_not_rendered_again(monkeypatch):
    stream = feed_all(["First.\n\n", "Second.\n\n", "Third.\n"])
    rendered = []

    def record_rendering(run):
        rendered.append(run[1].content)
        return "<p></p>"

    monkeypatch.setattr("chat.generation.markdown.render_tokens", record_rendering)
    stream.feed("And more.")
    assert rendered == ["Third.\nAnd more."]


def test_a_piece_without_visible_change_is_not_reported():
    stream = feed_all(["Text"])
    assert stream.feed("\n\n") is None
