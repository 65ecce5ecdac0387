"""A reply that streams ends as the same blocks as when it is rendered whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.generation.markdown import BlockStream, blocks

# What makes up Markdown's block structure, whole and in halves, so that pieces end in the middle of marks.
_MARKS = [
    *("# ", "#", "a", "b ", "- ", "-", "1. ", "1", "* ", "> ", "```", "`", "~~~", "    ", "\t", "|", "  "),
    *("a | b\n", "--- | ---", "---", "===", "***", "**", "_", "+ ", "2) ", "[a]", "[a]: http://x\n", "[a]: "),
    *("\n", "\n\n", "\r\n", "\r", "\x0b", "\x0c", "\u2028", "\x85", "<b>", "py\n", "é", "\x00"),
]
pieces = st.lists(st.sampled_from(_MARKS) | st.text(st.characters(exclude_categories=["Cs"])), max_size=14)


def streamed(parts: list[str]) -> BlockStream:
    stream = BlockStream()
    for part in parts:
        stream.feed(part)
    return stream


@settings(max_examples=400, deadline=None)
@given(pieces)
def test_any_text_in_any_pieces_ends_in_the_blocks_of_the_whole(parts):
    assert streamed(parts).blocks == blocks("".join(parts))


@settings(max_examples=150, deadline=None)
@given(pieces)
def test_a_page_that_applies_only_what_feed_reports_shows_the_same(parts):
    stream, shown = BlockStream(), []
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
def test_what_looks_settled_may_still_change(parts):
    assert streamed(parts).blocks == blocks("".join(parts))


def test_a_settled_block_is_not_rendered_again(monkeypatch):
    stream = streamed(["First.\n\n", "Second.\n\n", "Third.\n"])
    rendered = []

    def watched(run):
        rendered.append(run[1].content)
        return "<p></p>"

    monkeypatch.setattr("chat.generation.markdown._render_tokens", watched)
    stream.feed("And more.")
    assert rendered == ["Third.\nAnd more."]


def test_a_piece_that_changes_nothing_visible_is_not_reported():
    stream = streamed(["Text"])
    assert stream.feed("\n\n") is None
