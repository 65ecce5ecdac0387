"""The reasoning of a model is separated from its reply, wherever the pieces of its answer begin and end."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.llm.reasoning import ReasoningSeparator, find_closing_tag


def separate(pieces: list[str], closing_tag: str = "") -> tuple[str, str]:
    separator = ReasoningSeparator(closing_tag)
    parts = [*map(separator.take, pieces), separator.finish()]
    return "".join(part for part, _reply in parts), "".join(reply for _part, reply in parts)


def split_at(text: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


@pytest.mark.parametrize(
    ("text", "reasoning", "reply"),
    [
        ("<think>Oslo or Bergen?</think>\n\nOslo.", "Oslo or Bergen?", "Oslo."),
        ("\n<think>\n</think>\n\nOslo.", "\n", "Oslo."),
        ("<thought>Hm</thought>Oslo <think> is a tag.", "Hm", "Oslo <think> is a tag."),
        ("<think>a </thin b</think>c", "a </thin b", "c"),
        ("<think>a</think>b</think>c", "a", "b</think>c"),
        ("Write <think>x</think> like this.", "", "Write <think>x</think> like this."),
        ("< 3 apples", "", "< 3 apples"),
        ("<thin", "", "<thin"),
        ("  ", "", "  "),
        ("<think>and on and on", "and on and on", ""),
        ("<think>and on</thi", "and on</thi", ""),
        ("<think>all</think>\n\n", "all", ""),
        ("", "", ""),
    ],
)
@given(places=st.lists(st.integers(0, 100), max_size=12))
def test_both_are_the_same_for_any_pieces(text, reasoning, reply, places):
    assert separate(split_at(text, places)) == (reasoning, reply)


@given(places=st.lists(st.integers(0, 100), max_size=12))
def test_an_answer_may_begin_inside_the_reasoning(places):
    pieces = split_at("Oslo, surely.</think>\nOslo.", places)
    assert separate(pieces, "</think>") == ("Oslo, surely.", "Oslo.")


@given(st.lists(st.text(max_size=8), max_size=8).filter(lambda p: "<" not in "".join(p)))
def test_text_without_tags_is_all_reply(pieces):
    assert separate(pieces) == ("", "".join(pieces))


@given(
    st.lists(st.sampled_from(["<", "think", ">", "</", "a", " ", "\n", "<think>", "</think>"]), max_size=12)
)
def test_a_regular_expression_on_the_whole_text_finds_the_same(pieces):
    whole = "".join(pieces)
    found = re.fullmatch(r"\s*<think>(.*?)(?:</think>\s*(.*))?", whole, re.DOTALL)
    assert separate(pieces) == ((found[1], found[2] or "") if found else ("", whole))


@pytest.mark.parametrize(
    ("beginning", "closing"),
    [("<|im_start|>assistant\n<think>\n", "</think>"), ("<think>\n\n</think>\n\n", ""), ("assistant", "")],
)
def test_a_template_opens_the_reasoning_where_it_ends_with_the_tag(beginning, closing):
    assert find_closing_tag(beginning) == closing
