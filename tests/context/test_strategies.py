"""Which exchanges each context strategy keeps; exchanges are kept or dropped as a whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.context.strategies import HistoryExchange, choose_exchanges

WINDOW = 4096
STRATEGIES = ["simple", "summarization", "hybrid", "topics"]


def make_exchanges(*sizes: int, flagged: tuple[int, ...] = (), topics: str = "") -> list[HistoryExchange]:
    """Return exchanges of two messages each; sizes in tokens, topics as one letter per exchange."""
    return [
        HistoryExchange((2 * n + 1, 2 * n + 2), size, n in flagged, topics[n] if topics else None)
        for n, size in enumerate(sizes)
    ]


def kept_indexes(exchanges: list[HistoryExchange], choice) -> list[int]:
    """Return the indexes of the exchanges that the choice keeps."""
    return [
        n for n, e in enumerate(exchanges) if e.seqs[0] > choice.trimmed_through or e.seqs[0] in choice.kept
    ]


def test_simple_keeps_the_newest_exchanges_that_fit():
    talk = make_exchanges(*[100] * 20, flagged=(0, 1))
    assert kept_indexes(talk, choose_exchanges("simple", talk, 550, WINDOW)) == [15, 16, 17, 18, 19]
    assert kept_indexes(talk, choose_exchanges("simple", talk, 0, WINDOW)) == []


def test_hybrid_keeps_the_first_flagged_and_newest_exchanges():
    talk = make_exchanges(*[100] * 20, flagged=(4, 7))
    assert kept_indexes(talk, choose_exchanges("hybrid", talk, 850, WINDOW)) == [0, 4, 7, 15, 16, 17, 18, 19]


def test_hybrid_keeps_the_most_important_exchanges_after_the_flagged_ones():
    talk = make_exchanges(WINDOW // 4, *[WINDOW // 16] * 20, flagged=(2,))
    scores = {4: 0.6, 6: 0.9, 8: 0.4, 9: 0.7, 11: 0.6}
    talk = [replace(e, importance=scores.get(n, 0.0)) for n, e in enumerate(talk)]
    kept = kept_indexes(talk, choose_exchanges("hybrid", talk, WINDOW // 16 * 8, WINDOW))
    # A fifth of the window holds three exchanges; the last three always stay.
    assert kept == [2, 6, 9, 16, 17, 18, 19, 20]


@pytest.mark.parametrize("strategy", ["simple", "summarization", "topics"])
def test_only_hybrid_keeps_important_exchanges(strategy):
    talk = [replace(e, importance=0.9) for e in make_exchanges(*[100] * 20)]
    plain = make_exchanges(*[100] * 20)
    chosen = [kept_indexes(one, choose_exchanges(strategy, one, 800, WINDOW)) for one in (talk, plain)]
    assert chosen[0] == chosen[1]


def test_summarization_keeps_at_most_the_last_twenty_messages():
    talk = make_exchanges(*[10] * 30, flagged=(1,))
    assert kept_indexes(talk, choose_exchanges("summarization", talk, 2000, WINDOW)) == list(range(20, 30))


def test_topics_keeps_the_current_topic_and_the_last_messages():
    talk = make_exchanges(*[100] * 12, topics="aabbaabbbbbb")
    assert kept_indexes(talk, choose_exchanges("topics", talk, 550, WINDOW, "a")) == [4, 5, 9, 10, 11]


def test_hybrid_limits_the_size_of_the_first_and_flagged_exchanges():
    talk = make_exchanges(WINDOW // 4, *[WINDOW // 8] * 10, flagged=(1, 2, 3))
    choice = choose_exchanges("hybrid", talk, WINDOW, WINDOW)
    assert 0 not in kept_indexes(talk, choice)
    assert [n for n in kept_indexes(talk, choice) if n < 4] == [3]


@pytest.mark.parametrize("strategy", STRATEGIES[1:])
def test_the_last_six_messages_are_always_kept(strategy):
    talk = make_exchanges(*[3000] * 5)
    assert kept_indexes(talk, choose_exchanges(strategy, talk, 100, WINDOW)) == [2, 3, 4]


@given(
    st.sampled_from(STRATEGIES),
    st.lists(st.tuples(st.integers(1, 900), st.booleans(), st.sampled_from("abc")), max_size=25),
    st.integers(-50, 4000),
)
def test_kept_exchanges_fit_the_budget_except_the_last_six_messages(strategy, talk, room):
    exchanges = [HistoryExchange((2 * n + 1, 2 * n + 2), size, f, t) for n, (size, f, t) in enumerate(talk)]
    choice = choose_exchanges(strategy, exchanges, room, WINDOW, "a")
    stay = kept_indexes(exchanges, choice)
    least = 0 if strategy == "simple" else 3
    tail = exchanges[max(0, len(exchanges) - least) :]
    size = sum(exchanges[n].tokens for n in stay)
    assert size <= max(room, sum(e.tokens for e in tail) if least else 0, 0)
    assert set(stay) >= {exchanges.index(e) for e in tail} if least else True
    assert all(seq <= choice.trimmed_through for seq in choice.kept)
    # Only whole exchanges are kept.
    assert all((seq + 1 in choice.kept) if seq % 2 else (seq - 1 in choice.kept) for seq in choice.kept)
