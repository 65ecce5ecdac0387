"""Topics fade like the seed's table says, and the active one never goes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.topics.decay import (
    FLOOR,
    MAX_HALF_LIFE,
    MAX_TOPICS,
    MOST_TOPICS,
    Standing,
    half_life,
    memory_type,
    priority,
    retiring,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
ages = st.timedeltas(min_value=timedelta(), max_value=timedelta(days=4000))
importances = st.floats(0, 1)
accesses = st.integers(0, 10**9)


def standing(key: int, days: float = 0.0, importance: float = 1.0, access_count: int = 1) -> Standing[int]:
    return Standing(key, importance, access_count, NOW - days * DAY)


@pytest.mark.parametrize(
    ("counts", "days", "kind", "survives"),
    [
        (range(5), 1, "short-term", 5),
        (range(5, 10), 2, "transitioning", 10),
        (range(10, 15), 4, "long-term", 20),
        (range(15, 20), 8, "long-term", 40),
        (range(20, 25), 16, "long-term", 80),
        ([25, 26, 40, 1000, 10**6], 30, "long-term", 150),
    ],
)
def test_the_seeds_survival_table(counts, days, kind, survives):
    for count in counts:
        assert half_life(count) == timedelta(days=days)
        assert memory_type(count) == kind
        assert priority(1.0, count, survives * DAY) < FLOOR
        # "~5 days" is between four and five half-lives.
        assert priority(1.0, count, survives * DAY * 0.8) > FLOOR


@pytest.mark.parametrize("count", [0, 20])
@pytest.mark.parametrize(
    ("halves", "left"), [(0, 1), (1, 0.5), (2, 0.25), (3, 0.125), (4, 0.0625), (5, 0.03125)]
)
def test_the_seeds_priorities(count, halves, left):
    assert priority(1.0, count, halves * half_life(count)) == pytest.approx(left)


@given(importances, accesses, ages, ages)
def test_priority_only_falls_with_time_and_stays_between_zero_and_importance(importance, count, one, two):
    young, old = sorted((one, two))
    assert 0 <= priority(importance, count, old) <= priority(importance, count, young) <= importance


@given(importances, accesses, accesses, ages)
def test_more_accesses_never_make_a_topic_fade_faster(importance, one, two, age):
    few, many = sorted((one, two))
    assert priority(importance, few, age) <= priority(importance, many, age)
    assert half_life(many) <= MAX_HALF_LIFE


def test_a_clock_that_was_put_back_makes_nothing_more_important():
    assert priority(0.5, 0, -DAY) == 0.5


def test_nothing_retires_while_there_are_twenty_topics_or_fewer():
    assert retiring([standing(i, days=1000) for i in range(MAX_TOPICS)], None, NOW) == []


def test_above_twenty_topics_those_below_the_floor_retire():
    topics = [standing(i, days=4) for i in range(MAX_TOPICS)] + [standing(90, days=5), standing(91, days=6)]
    assert retiring(topics, 0, NOW) == [91, 90]


def test_the_active_topic_never_retires():
    topics = [standing(i, days=4) for i in range(MAX_TOPICS)] + [standing(90, days=500)]
    assert retiring(topics, 90, NOW) == []


def test_what_matters_less_retires_sooner():
    topics = [standing(i) for i in range(MAX_TOPICS)] + [standing(90, days=2, importance=0.1)]
    assert retiring(topics, 0, NOW) == [90]


def test_above_forty_the_lowest_retire_however_lively_they_are():
    topics = [standing(i, days=i / 100) for i in range(MOST_TOPICS + 3)]
    assert retiring(topics, 0, NOW) == [42, 41, 40]


@given(
    st.lists(
        st.builds(standing, st.integers(), st.floats(0, 300), importances, st.integers(0, 60)), max_size=70
    )
)
def test_whatever_the_topics_the_bounds_hold(found):
    topics = [Standing(i, t.importance, t.access_count, t.last_active_at) for i, t in enumerate(found)]
    gone = retiring(topics, 0, NOW)
    assert 0 not in gone
    assert len(set(gone)) == len(gone)
    assert len(topics) - len(gone) <= MOST_TOPICS
    if len(topics) <= MAX_TOPICS:
        assert gone == []
