"""A reasoning model's thoughts are not its reply."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.llm.remote.thinking import Thoughts


def told(pieces: list[str], *, opened: bool = False) -> str:
    thoughts = Thoughts(opened=opened)
    return "".join([*map(thoughts.take, pieces), thoughts.rest()])


def cut(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("<think>Oslo or Bergen?</think>\n\nOslo.", "Oslo."),
        ("\n<think>\n</think>\n\nOslo.", "Oslo."),
        ("<thought>Hm</thought>Oslo <think> is a tag.", "Oslo <think> is a tag."),
        ("Write <think>x</think> like this.", "Write <think>x</think> like this."),
        ("< 3 apples", "< 3 apples"),
        ("<thin", "<thin"),
        ("<think>and on and on", ""),
        ("", ""),
    ],
)
@given(places=st.lists(st.integers(0, 100), max_size=12))
def test_the_reply_is_what_stands_behind_the_thought_however_it_comes(text, reply, places):
    assert told(cut(text, places)) == reply


@given(places=st.lists(st.integers(0, 100), max_size=12))
def test_a_thought_whose_beginning_the_template_wrote_is_left_out_too(places):
    assert told(cut("Oslo, surely.</think>\nOslo.", places), opened=True) == "Oslo."


@given(st.lists(st.text(max_size=8), max_size=8).filter(lambda p: "<" not in "".join(p)))
def test_other_text_comes_through_unchanged(pieces):
    assert told(pieces) == "".join(pieces)
