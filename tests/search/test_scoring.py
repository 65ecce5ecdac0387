"""Match levels rank adjacent words over close words over distant ones; fused rankings combine two lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.search.matches import BEST, NEAR, SOMEWHERE, fuse_rankings, match_level
from chat.search.query import parse_query
from chat.search.words import split_words

FAR = "word " * 30


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("boat", "a boat here", BEST),
        ("boa", "a boat here", SOMEWHERE),
        ("fair wind", "a fair wind blows", BEST),
        ("fair wi", "a fair wind blows", BEST),
        ("wind fair", "a fair wind blows", NEAR),
        ("fair blows", f"fair {FAR} blows", SOMEWHERE),
        ("fair calm", "a fair wind", 0),
        ('"fair wind"', "wind fair", 0),
        ("上海", "我 住 在 上 海", BEST),
        ("muenchen", "in munchen", BEST),
    ],
)
def test_match_levels(query, text, expected):
    assert match_level(" ".join(split_words(text)), parse_query(query)) == expected


@given(st.lists(st.integers(), unique=True), st.lists(st.integers(), unique=True))
def test_fused_rankings_keep_everything_and_score_between_0_and_1(one, two):
    scores = fuse_rankings(one, two)
    assert set(scores) == {*one, *two}
    assert all(0 < score <= 1 for score in scores.values())


def test_an_item_high_in_both_rankings_comes_first():
    scores = fuse_rankings(["a", "b", "c"], ["b", "d"])
    assert max(scores, key=lambda one: scores[one]) == "b"
    assert fuse_rankings(["a"])["a"] == 1
