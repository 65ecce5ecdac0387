"""The reasoning of a model is removed from its reply."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.llm.remote.events import ReasoningFilter


def filter_pieces(pieces: list[str], *, opened: bool = False) -> str:
    thoughts = ReasoningFilter(opened=opened)
    return "".join([*map(thoughts.take, pieces), thoughts.finish()])


def split_at(text: str, places: list[int]) -> list[str]:
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
def test_the_reply_is_the_text_after_the_reasoning_for_any_chunks(text, reply, places):
    assert filter_pieces(split_at(text, places)) == reply


@given(places=st.lists(st.integers(0, 100), max_size=12))
def test_reasoning_opened_by_the_template_is_removed(places):
    assert filter_pieces(split_at("Oslo, surely.</think>\nOslo.", places), opened=True) == "Oslo."


@given(st.lists(st.text(max_size=8), max_size=8).filter(lambda p: "<" not in "".join(p)))
def test_text_without_tags_is_unchanged(pieces):
    assert filter_pieces(pieces) == "".join(pieces)
