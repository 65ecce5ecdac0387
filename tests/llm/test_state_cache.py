"""Saved states of conversations that are not in the context, within a memory budget."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chat.llm.state_cache import SavedState, StateCache, WantedPrefix

sizes = st.integers(0, 60)
names = st.sampled_from("abcdef")


def state_of_size(size: int, tokens: list[int] | None = None) -> SavedState:
    return SavedState(tokens or [size], np.zeros(size, np.uint8))


@given(st.lists(st.tuples(names, sizes), max_size=30), st.integers(0, 100))
def test_memory_stays_within_its_budget(arrivals, budget):
    cache = StateCache(budget)
    for name, size in arrivals:
        cache.put(name, state_of_size(size))
        assert cache.used_bytes() <= 2 * budget
        assert (name in cache) == (size <= 2 * budget)
        cache.shrink_to_budget()
        assert cache.used_bytes() <= budget
        assert (name in cache) == (size <= budget)


def test_the_oldest_state_is_moved_out_first():
    cache = StateCache(10)
    for name in "abc":
        cache.put(name, state_of_size(5))
    cache.shrink_to_budget()
    assert [name in cache for name in "abc"] == [False, True, True]


def test_a_state_is_returned_once():
    cache = StateCache(10)
    cache.put("a", state_of_size(3, [1, 2, 3]))
    taken = cache.take("a")
    assert taken is not None
    assert taken.tokens == [1, 2, 3]
    assert cache.take("a") is None


def test_a_new_state_replaces_the_old_one_even_if_it_does_not_fit():
    cache = StateCache(10)
    cache.put("a", state_of_size(3))
    cache.put("a", state_of_size(11))
    cache.shrink_to_budget()
    assert "a" not in cache


@given(st.lists(st.lists(st.integers(0, 2), max_size=8), max_size=5), st.lists(st.integers(0, 2), max_size=8))
def test_the_state_with_the_longest_prefix_is_found(prefixes, wanted):
    cache = StateCache(1000)
    for i, tokens in enumerate(prefixes):
        cache.put(str(i), SavedState(tokens, np.zeros(1, np.uint8)))
    saved, length = cache.find_longest_prefix(WantedPrefix(wanted, owner="", public=0))
    shared = [
        next((i for i, (a, b) in enumerate(zip(p, wanted, strict=False)) if a != b), min(len(p), len(wanted)))
        for p in prefixes
    ]
    assert length == max(shared, default=0)
    assert (saved is None) == (length == 0)
