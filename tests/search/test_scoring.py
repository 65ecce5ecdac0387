"""Which answer is better: side by side before close before anywhere, and who leads in two lists leads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.search.query import parse
from chat.search.scoring import BEST, NEAR, SOMEWHERE, fused, level
from chat.search.words import words

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
def test_levels(query, text, expected):
    assert level(" ".join(words(text)), parse(query)) == expected


@given(st.lists(st.integers(), unique=True), st.lists(st.integers(), unique=True))
def test_fused_rankings_keep_everything_and_score_between_0_and_1(one, two):
    scores = fused(one, two)
    assert set(scores) == {*one, *two}
    assert all(0 < score <= 1 for score in scores.values())


def test_who_stands_high_in_both_leads():
    scores = fused(["a", "b", "c"], ["b", "d"])
    assert max(scores, key=lambda one: scores[one]) == "b"
    assert fused(["a"])["a"] == 1
