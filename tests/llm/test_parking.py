"""Prefixes of conversations that wait their turn, within a budget."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chat.llm.parking import Parked, ParkingLot

sizes = st.integers(0, 60)
names = st.sampled_from("abcdef")


def car(size: int, tokens: list[int] | None = None) -> Parked:
    return Parked(tokens or [size], np.zeros(size, np.uint8))


@given(st.lists(st.tuples(names, sizes), max_size=30), st.integers(0, 100))
def test_memory_is_within_its_budget_once_settled_and_never_twice_beyond(arrivals, budget):
    lot = ParkingLot(budget)
    for name, size in arrivals:
        lot.put(name, car(size))
        assert lot.used() <= 2 * budget
        assert (name in lot) == (size <= 2 * budget)
        lot.settle()
        assert lot.used() <= budget
        assert (name in lot) == (size <= budget)


def test_who_was_parked_first_leaves_first():
    lot = ParkingLot(10)
    for name in "abc":
        lot.put(name, car(5))
    lot.settle()
    assert [name in lot for name in "abc"] == [False, True, True]


def test_a_prefix_is_given_back_once():
    lot = ParkingLot(10)
    lot.put("a", car(3, [1, 2, 3]))
    taken = lot.take("a")
    assert taken is not None
    assert taken.tokens == [1, 2, 3]
    assert lot.take("a") is None


def test_a_new_prefix_of_a_name_replaces_the_old_one_even_when_it_does_not_fit():
    lot = ParkingLot(10)
    lot.put("a", car(3))
    lot.put("a", car(11))
    lot.settle()
    assert "a" not in lot


@given(st.lists(st.lists(st.integers(0, 2), max_size=8), max_size=5), st.lists(st.integers(0, 2), max_size=8))
def test_the_best_source_shares_the_most_leading_tokens(prefixes, wanted):
    lot = ParkingLot(1000)
    for i, tokens in enumerate(prefixes):
        lot.put(str(i), Parked(tokens, np.zeros(1, np.uint8)))
    parked, length = lot.best_source(wanted)
    shared = [
        next((i for i, (a, b) in enumerate(zip(p, wanted, strict=False)) if a != b), min(len(p), len(wanted)))
        for p in prefixes
    ]
    assert length == max(shared, default=0)
    assert (parked is None) == (length == 0)
