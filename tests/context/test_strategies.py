"""Each strategy keeps what it promises, and nothing is ever kept in part (design §6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.context.strategies import Exchange, choose

WINDOW = 4096
STRATEGIES = ["simple", "summarization", "hybrid", "topics"]


def said(*sizes: int, flagged: tuple[int, ...] = (), topics: str = "") -> list[Exchange]:
    """Return exchanges of two messages each."""
    return [
        Exchange((2 * n + 1, 2 * n + 2), size, n in flagged, topics[n] if topics else None)
        for n, size in enumerate(sizes)
    ]


def kept(exchanges: list[Exchange], choice) -> list[int]:
    """Return the numbers of the exchanges that stay."""
    return [
        n for n, e in enumerate(exchanges) if e.seqs[0] > choice.trimmed_through or e.seqs[0] in choice.kept
    ]


def test_simple_keeps_the_newest_that_fit_and_not_one_more():
    talk = said(*[100] * 20, flagged=(0, 1))
    assert kept(talk, choose("simple", talk, 550, WINDOW)) == [15, 16, 17, 18, 19]
    assert kept(talk, choose("simple", talk, 0, WINDOW)) == []


def test_hybrid_keeps_the_opening_what_was_marked_and_the_newest():
    talk = said(*[100] * 20, flagged=(4, 7))
    assert kept(talk, choose("hybrid", talk, 850, WINDOW)) == [0, 4, 7, 15, 16, 17, 18, 19]


def test_summarization_keeps_no_more_than_the_last_twenty_messages():
    talk = said(*[10] * 30, flagged=(1,))
    assert kept(talk, choose("summarization", talk, 2000, WINDOW)) == list(range(20, 30))


def test_topics_keeps_what_is_talked_about_now_and_the_last_messages():
    talk = said(*[100] * 12, topics="aabbaabbbbbb")
    assert kept(talk, choose("topics", talk, 550, WINDOW, "a")) == [4, 5, 9, 10, 11]


def test_a_huge_opening_is_not_kept_and_marks_take_no_more_than_a_fifth_of_the_window():
    talk = said(WINDOW // 4, *[WINDOW // 8] * 10, flagged=(1, 2, 3))
    choice = choose("hybrid", talk, WINDOW, WINDOW)
    assert 0 not in kept(talk, choice)
    assert [n for n in kept(talk, choice) if n < 4] == [3]


@pytest.mark.parametrize("strategy", STRATEGIES[1:])
def test_the_last_six_messages_stay_however_long_they_are(strategy):
    talk = said(*[3000] * 5)
    assert kept(talk, choose(strategy, talk, 100, WINDOW)) == [2, 3, 4]


@given(
    st.sampled_from(STRATEGIES),
    st.lists(st.tuples(st.integers(1, 900), st.booleans(), st.sampled_from("abc")), max_size=25),
    st.integers(-50, 4000),
)
def test_what_stays_fits_but_for_the_last_six_messages_and_begins_with_the_user(strategy, talk, room):
    exchanges = [Exchange((2 * n + 1, 2 * n + 2), size, f, t) for n, (size, f, t) in enumerate(talk)]
    choice = choose(strategy, exchanges, room, WINDOW, "a")
    stay = kept(exchanges, choice)
    least = 0 if strategy == "simple" else 3
    tail = exchanges[max(0, len(exchanges) - least) :]
    size = sum(exchanges[n].tokens for n in stay)
    assert size <= max(room, sum(e.tokens for e in tail) if least else 0, 0)
    assert set(stay) >= {exchanges.index(e) for e in tail} if least else True
    assert all(seq <= choice.trimmed_through for seq in choice.kept)
    # Whole exchanges only.
    assert all((seq + 1 in choice.kept) if seq % 2 else (seq - 1 in choice.kept) for seq in choice.kept)
