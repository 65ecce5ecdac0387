"""A streamed code block is rendered line by line: each line once, and sent once."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.generation import block_stream
from chat.generation.block_stream import BlockStream
from chat.generation.hub import Hub
from chat.generation.markdown import render_blocks

LINES = [f'    """Return {n}."""\n    return "a {n}"  # <b>&\n\n' for n in range(200)]
lines = st.lists(
    st.sampled_from(
        [*LINES[:3], "x = '''\n", "'''\n", "``\n", "    ```\n", "~~~\n", "é𝄞\n", "\n", "/* \n", "# a"]
    )
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00")),
    max_size=40,
)


def visible(block: str) -> str:
    # Pygments ends code with a line break that no page shows.
    return html.unescape(re.sub(r"<[^>]*>", "", block)).rstrip("\n")


def stream_all(pieces: list[str]) -> tuple[BlockStream, list[Any]]:
    """Feed the pieces, and return the stream and the frames that its reply sends."""
    stream, hub = BlockStream(), Hub()
    frames: list[Any] = []
    hub.begin_reply("c", "r")
    hub._watchers["c"].add(type("Recorder", (), {"put": staticmethod(frames.append)})())
    for piece in pieces:
        if (first := stream.feed(piece)) is not None:
            hub.publish_blocks("c", first, stream.blocks[first:])
    return stream, frames


def apply_frames(frames: list[Any]) -> list[str]:
    """Return the blocks that a page shows after these frames, which count as JavaScript does."""
    shown: list[str] = []
    for frame in frames:
        first, keep = frame["from"], frame["keep"]
        kept = shown[first].encode("utf-16-le")[: 2 * keep].decode("utf-16-le") if keep else ""
        shown[first:] = [kept + frame["html"][0], *frame["html"][1:]] if frame["html"] else []
    return shown


@settings(max_examples=200)
@given(lines, st.sampled_from(["```python\n", "```\n", "~~~~ js\n", "Text\n\n```c x y\n"]))
def test_a_page_shows_the_same_words_as_the_whole_text(parts, opening):
    stream, frames = stream_all([opening, *parts])
    assert apply_frames(frames) == stream.blocks
    assert [visible(b) for b in stream.blocks] == [
        visible(b) for b in render_blocks(opening + "".join(parts))
    ]


@settings(max_examples=100)
@given(lines, st.sampled_from(["```python\n", "~~~\n"]))
def test_after_the_closing_line_the_html_is_that_of_the_whole_text(parts, opening):
    pieces = [opening, *parts, "\n", opening[:3], "\n", "\nEnd.\n"]
    assert stream_all(pieces)[0].blocks == render_blocks("".join(pieces))


def test_a_finished_line_is_highlighted_a_fixed_number_of_times(monkeypatch):
    highlighted = []
    real = block_stream.highlight

    def record(code, language):
        highlighted.append(len(code))
        return real(code, language)

    monkeypatch.setattr(block_stream, "highlight", record)
    sums = []
    for count in (50, 100, 200):
        highlighted.clear()
        stream_all(["```python\n", *"".join(LINES[:count]).splitlines(keepends=True)])
        sums.append(sum(highlighted))
    assert sums[1] < 2.2 * sums[0]
    assert sums[2] < 2.2 * sums[1]


@pytest.mark.parametrize("kind", ["code", "list", "table", "paragraph"])
def test_twice_the_text_sends_twice_the_bytes(kind):
    pieces = {
        "code": ["```python\n", *LINES],
        "list": [f"- Item **{n}** and more\n" for n in range(200)],
        "table": ["| a | b |\n| --- | --- |\n", *(f"| cell {n} | *text* |\n" for n in range(200))],
        "paragraph": [f"word {n} " for n in range(200)],
    }[kind]
    sent = [len(json.dumps(stream_all(pieces[:count])[1])) for count in (50, 100, 200)]
    assert sent[1] < 2.2 * sent[0]
    assert sent[2] < 2.2 * sent[1]
