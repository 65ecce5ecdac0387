"""Which slot of the context a conversation gets, and what common prefix two prompts have."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chat.llm.prefix_cache import SlotTable
from chat.llm.state_cache import WantedPrefix, common_prefix

tokens = st.lists(st.integers(0, 2), max_size=40)
names = st.sampled_from("abcdefgh")


def common_prefix_by_loop(a: list[int], b: list[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@given(tokens, tokens)
def test_the_common_prefix_equals_that_of_a_simple_loop(a, b):
    assert common_prefix(a, b) == common_prefix(b, a) == common_prefix_by_loop(a, b)


@given(tokens, tokens, tokens)
def test_a_shared_beginning_is_part_of_the_common_prefix(start, a, b):
    assert common_prefix(start + a, start + b) >= len(start)


def assign_slot(table: SlotTable, name: str):
    """Assign a slot to a name as the prefix cache does."""
    slot = table.get(name) or table.find_free()
    if slot is None:
        slot = table.find_least_used(None)
        slot.tokens.clear()
    slot.name = name
    table.mark_used(slot)
    return slot


@given(st.lists(names, max_size=40), st.integers(1, 5))
def test_a_name_has_one_slot_and_the_last_ones_keep_theirs(all_names, slots):
    table = SlotTable(slots, 1000)
    for name in all_names:
        slot = assign_slot(table, name)
        assigned = [s.name for s in table if s.name is not None]
        assert len(assigned) == len(set(assigned)) <= slots
        assert table.get(name) is slot


@given(st.lists(names, min_size=1, max_size=20))
def test_the_least_recently_used_slot_is_evicted_first(all_names):
    table = SlotTable(4, 1000)
    for name in all_names:
        assign_slot(table, name)
    out = []
    while find_least_used := table.find_least_used(None):
        out.append(find_least_used.last_used)
        find_least_used.name = None
    assert out == sorted(out)


def test_the_requesting_slot_is_never_evicted():
    table = SlotTable(2, 1000)
    only = assign_slot(table, "a")
    assert table.find_least_used(only) is None
    other = assign_slot(table, "b")
    assert table.find_least_used(only) is other


@given(st.lists(tokens, min_size=1, max_size=4), tokens)
def test_the_longest_prefix_of_all_other_slots_is_found(caches, wanted):
    table = SlotTable(5, 1000)
    asking = assign_slot(table, "asking")
    asking.tokens = list(wanted)
    for i, cache in enumerate(caches):
        assign_slot(table, f"n{i}").tokens = list(cache)
    source, length = table.find_longest_prefix(WantedPrefix(wanted, owner="", public=0), asking)
    assert length == max(common_prefix_by_loop(cache, wanted) for cache in caches)
    assert source is not asking
    assert (source is None) == (length == 0)


@given(st.lists(tokens, max_size=4))
def test_used_cells_are_never_undercounted(caches):
    table = SlotTable(4, 1000)
    for i, cache in enumerate(caches):
        assign_slot(table, f"n{i}").tokens = list(cache)
    distinct = {tuple(cache[: i + 1]) for cache in caches for i in range(len(cache))}
    assert table.count_used_cells() >= len(distinct)
