"""How the context window is divided among reply, memory and history."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.context import budget

windows = st.integers(1024, 131_072)


@pytest.mark.parametrize(("window", "tokens"), [(2048, 409), (4096, 819), (5120, 1024), (8192, 1024)])
def test_the_reply_reserve_is_a_fifth_of_the_window_up_to_1024_tokens(window, tokens):
    assert budget.reply_reserve(window) == tokens


@pytest.mark.parametrize(
    ("window", "used", "tokens"),
    [(8192, 100, 500), (2048, 100, 384), (1024, 100, 180), (1024, 900, 150), (512, 600, 150)],
)
def test_the_memory_budget_is_a_quarter_of_the_rest_between_150_and_500(window, used, tokens):
    assert budget.memory_budget(window, used) == tokens


@given(windows, st.integers(0, 131_072))
def test_the_memory_budget_stays_within_its_bounds(window, used):
    assert 150 <= budget.memory_budget(window, used) <= 500


@given(windows)
def test_a_prompt_is_compacted_when_it_exceeds_80_percent_of_the_window(window):
    limit = min(0.8 * window, window - budget.reply_reserve(window))
    assert not budget.must_compact(int(limit), window)
    assert budget.must_compact(int(limit) + 1, window)


@given(windows)
def test_a_compacted_prompt_has_room_for_a_whole_reply(window):
    assert not budget.must_compact(budget.compaction_target(window) + budget.reply_reserve(window), window)
