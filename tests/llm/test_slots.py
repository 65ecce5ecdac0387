"""Which conversation's prefix lies in which seat of the context."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chat.llm.slots import SlotTable, common_prefix

tokens = st.lists(st.integers(0, 2), max_size=40)
names = st.sampled_from("abcdefgh")


def naive(a: list[int], b: list[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@given(tokens, tokens)
def test_the_common_prefix_is_as_long_as_a_comparison_one_by_one_finds_it(a, b):
    assert common_prefix(a, b) == common_prefix(b, a) == naive(a, b)


@given(tokens, tokens, tokens)
def test_what_two_lists_begin_with_is_their_common_prefix_at_least(start, a, b):
    assert common_prefix(start + a, start + b) >= len(start)


def seat(table: SlotTable, name: str):
    """Give a name a seat as the engine does."""
    slot = table.get(name) or table.free_slot()
    if slot is None:
        slot = table.victim(None)
        slot.tokens.clear()
    slot.name = name
    table.touch(slot)
    return slot


@given(st.lists(names, max_size=40), st.integers(1, 5))
def test_a_name_has_one_seat_and_the_last_seated_still_has_theirs(guests, seats):
    table = SlotTable(seats, 1000)
    for name in guests:
        slot = seat(table, name)
        seated = [s.name for s in table if s.name is not None]
        assert len(seated) == len(set(seated)) <= seats
        assert table.get(name) is slot


@given(st.lists(names, min_size=1, max_size=20))
def test_who_was_not_used_for_longest_goes_first(guests):
    table = SlotTable(4, 1000)
    for name in guests:
        seat(table, name)
    out = []
    while victim := table.victim(None):
        out.append(victim.last_used)
        victim.name = None
    assert out == sorted(out)


def test_the_one_who_needs_room_is_never_the_victim():
    table = SlotTable(2, 1000)
    only = seat(table, "a")
    assert table.victim(only) is None
    other = seat(table, "b")
    assert table.victim(only) is other


@given(st.lists(tokens, min_size=1, max_size=4), tokens)
def test_the_best_source_shares_the_longest_prefix_of_all_the_others(caches, wanted):
    table = SlotTable(5, 1000)
    asking = seat(table, "asking")
    asking.tokens = list(wanted)
    for i, cache in enumerate(caches):
        seat(table, f"n{i}").tokens = list(cache)
    source, length = table.best_source(wanted, asking)
    assert length == max(naive(cache, wanted) for cache in caches)
    assert source is not asking
    assert (source is None) == (length == 0)


@given(st.lists(tokens, max_size=4))
def test_used_cells_are_never_counted_too_few(caches):
    table = SlotTable(4, 1000)
    for i, cache in enumerate(caches):
        seat(table, f"n{i}").tokens = list(cache)
    distinct = {tuple(cache[: i + 1]) for cache in caches for i in range(len(cache))}
    assert table.used_cells() >= len(distinct)
