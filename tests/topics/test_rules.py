"""The rules of topics: the defaults are the documented ones, and each rule changes what it names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.topics.decay import (
    TopicActivity,
    choose_retiring_topics,
    classify_memory_type,
    compute_half_life,
)
from chat.topics.match import TopicCandidate, choose_topic
from chat.topics.rules import DEFAULT_RULES, TopicRules

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def test_the_defaults_are_the_documented_ones():
    assert TopicRules() == DEFAULT_RULES
    assert (DEFAULT_RULES.max_topics, DEFAULT_RULES.similarity_threshold) == (20, None)
    assert (DEFAULT_RULES.base_half_life_seconds, DEFAULT_RULES.max_half_life_seconds) == (86400, 2592000)
    assert DEFAULT_RULES.access_threshold_for_lt == 5
    assert (DEFAULT_RULES.max_messages_per_topic, DEFAULT_RULES.recent_message_keep) == (12, 4)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("max_topics", value) for value in (0, -1, 2.5, True, "20", None)),
        *(("similarity_threshold", value) for value in (-0.1, 1.1, float("nan"), "0.7", True)),
        *(("base_half_life_seconds", value) for value in (0, -5, float("inf"), "a day")),
        *(("max_half_life_seconds", value) for value in (0, 86399, float("nan"))),
        *(("access_threshold_for_lt", value) for value in (0, 1.5)),
        *(("max_messages_per_topic", value) for value in (0, None)),
        *(("recent_message_keep", value) for value in (-1, 13, 4.0)),
    ],
)
def test_an_impossible_rule_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"^{name} is a .*number from"):
        TopicRules(**{name: value})


def test_the_half_life_follows_base_threshold_and_maximum():
    rules = TopicRules(
        base_half_life_seconds=3600, max_half_life_seconds=10 * 3600, access_threshold_for_lt=2
    )
    hours = [compute_half_life(count, rules) / HOUR for count in range(0, 12, 2)]
    assert hours == [1, 2, 4, 8, 10, 10]
    assert [classify_memory_type(count, rules) for count in (1, 3, 4)] == [
        "short-term",
        "transitioning",
        "long-term",
    ]


@given(st.integers(1, 10**6), st.integers(0, 10**9), st.integers(1, 1000))
def test_every_half_life_is_between_base_and_maximum(base, count, threshold):
    rules = TopicRules(
        base_half_life_seconds=base, max_half_life_seconds=2 * 10**6, access_threshold_for_lt=threshold
    )
    assert base <= compute_half_life(count, rules).total_seconds() <= 2 * 10**6


def test_more_topics_than_the_maximum_make_decayed_ones_retire():
    topics = [TopicActivity(n, 1.0, 1, NOW - n * 10 * DAY) for n in range(4)]
    assert choose_retiring_topics(topics, 0, NOW, TopicRules(max_topics=4)) == []
    assert choose_retiring_topics(topics, 0, NOW, TopicRules(max_topics=3)) == [3, 2, 1]


def test_twice_the_maximum_is_never_exceeded():
    topics = [TopicActivity(n, 1.0, 1, NOW - n * timedelta(minutes=1)) for n in range(8)]
    assert choose_retiring_topics(topics, 0, NOW, TopicRules(max_topics=3)) == [7, 6]


ASKED = "Which sourdough starter should somebody bake their first loaf with?"


def choose(cosine: float, threshold: float | None) -> str | None:
    """Return the topic for a message whose vector has this cosine with the only topic's."""
    topic = np.array([1, 0], dtype=np.float32)
    message = np.array([cosine, (1 - cosine**2) ** 0.5], dtype=np.float32)
    known = [TopicCandidate("bread", topic, frozenset())]
    return choose_topic(ASKED, message, "minilm-l6-int8", known, None, threshold)


def test_the_threshold_decides_when_a_message_joins_a_topic():
    assert choose(0.5, None) == "bread"
    assert choose(0.5, 0.7) is None
    assert choose(0.75, 0.7) == "bread"
    assert choose(0.05, 0.0) == "bread"


def test_of_two_topics_above_a_given_threshold_the_more_similar_one_is_chosen():
    one, other = np.array([1, 0], dtype=np.float32), np.array([0.9, 0.4359], dtype=np.float32)
    known = [TopicCandidate("one", one, frozenset()), TopicCandidate("other", other, frozenset())]
    assert choose_topic(ASKED, other, "minilm-l6-int8", known, "one", 0.7) == "other"
    assert choose_topic(ASKED, one, "minilm-l6-int8", known, "one", 0.7) == "one"
