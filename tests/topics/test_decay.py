"""Topics retire according to the half-lives of their priority; the active topic never retires."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.topics.decay import (
    RETIREMENT_PRIORITY,
    TopicActivity,
    choose_retiring_topics,
    classify_memory_type,
    compute_half_life,
    compute_priority,
)
from chat.topics.rules import DEFAULT_RULES

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
ages = st.timedeltas(min_value=timedelta(), max_value=timedelta(days=4000))
importances = st.floats(0, 1)
accesses = st.integers(0, 10**9)


def make_standing(
    key: int, days: float = 0.0, importance: float = 1.0, access_count: int = 1
) -> TopicActivity[int]:
    return TopicActivity(key, importance, access_count, NOW - days * DAY)


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
def test_topics_survive_as_long_as_the_table_says(counts, days, kind, survives):
    for count in counts:
        assert compute_half_life(count) == timedelta(days=days)
        assert classify_memory_type(count) == kind
        assert compute_priority(1.0, count, survives * DAY) < RETIREMENT_PRIORITY
        # "~5 days" is between four and five half-lives.
        assert compute_priority(1.0, count, survives * DAY * 0.8) > RETIREMENT_PRIORITY


@pytest.mark.parametrize("count", [0, 20])
@pytest.mark.parametrize(
    ("halves", "left"), [(0, 1), (1, 0.5), (2, 0.25), (3, 0.125), (4, 0.0625), (5, 0.03125)]
)
def test_priorities_halve_with_each_half_life(count, halves, left):
    assert compute_priority(1.0, count, halves * compute_half_life(count)) == pytest.approx(left)


@given(importances, accesses, ages, ages)
def test_priority_only_falls_with_time_and_stays_between_zero_and_importance(importance, count, one, two):
    young, old = sorted((one, two))
    assert (
        0
        <= compute_priority(importance, count, old)
        <= compute_priority(importance, count, young)
        <= importance
    )


@given(importances, accesses, accesses, ages)
def test_more_accesses_never_shorten_the_half_life(importance, one, two, age):
    few, many = sorted((one, two))
    assert compute_priority(importance, few, age) <= compute_priority(importance, many, age)
    assert compute_half_life(many) <= 30 * DAY


def test_a_clock_that_was_set_back_raises_no_priority():
    assert compute_priority(0.5, 0, -DAY) == 0.5


def test_nothing_retires_while_there_are_twenty_topics_or_fewer():
    assert (
        choose_retiring_topics(
            [make_standing(i, days=1000) for i in range(DEFAULT_RULES.max_topics)], None, NOW
        )
        == []
    )


def test_above_twenty_topics_those_below_the_floor_retire():
    topics = [make_standing(i, days=4) for i in range(DEFAULT_RULES.max_topics)] + [
        make_standing(90, days=5),
        make_standing(91, days=6),
    ]
    assert choose_retiring_topics(topics, 0, NOW) == [91, 90]


def test_the_active_topic_never_retires():
    topics = [make_standing(i, days=4) for i in range(DEFAULT_RULES.max_topics)] + [
        make_standing(90, days=500)
    ]
    assert choose_retiring_topics(topics, 90, NOW) == []


def test_less_important_topics_retire_first():
    topics = [make_standing(i) for i in range(DEFAULT_RULES.max_topics)] + [
        make_standing(90, days=2, importance=0.1)
    ]
    assert choose_retiring_topics(topics, 0, NOW) == [90]


def test_above_forty_topics_the_lowest_retire_whatever_their_priority():
    topics = [make_standing(i, days=i / 100) for i in range(DEFAULT_RULES.hard_max_topics + 3)]
    assert choose_retiring_topics(topics, 0, NOW) == [42, 41, 40]


@given(
    st.lists(
        st.builds(make_standing, st.integers(), st.floats(0, 300), importances, st.integers(0, 60)),
        max_size=70,
    )
)
def test_the_number_of_topics_stays_within_the_bounds(found):
    topics = [TopicActivity(i, t.importance, t.access_count, t.last_active_at) for i, t in enumerate(found)]
    gone = choose_retiring_topics(topics, 0, NOW)
    assert 0 not in gone
    assert len(set(gone)) == len(gone)
    assert len(topics) - len(gone) <= DEFAULT_RULES.hard_max_topics
    if len(topics) <= DEFAULT_RULES.max_topics:
        assert gone == []
