"""Which facts are evicted."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.evict import (
    CAP,
    MAX_GRADUAL_EVICTIONS,
    PRUNE_FROM,
    Evictable,
    choose_evicted_facts,
    compute_eviction_score,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def fact(days: float = 0.0, category: str = "preference", confidence: float = 0.75) -> Evictable:
    return Evictable(uuid.uuid4(), category, confidence, NOW - timedelta(days=days))


facts = st.lists(
    st.builds(
        fact,
        st.floats(0, 400),
        st.sampled_from(["project", "preference", "identity"]),
        st.floats(0.1, 1.0),
    ),
    max_size=200,
)
others = st.integers(0, 30)


@pytest.mark.parametrize(("category", "weight"), [("project", 0.8), ("preference", 0.3), ("identity", 0.5)])
def test_the_score_is_age_times_weight_by_confidence(category, weight):
    assert compute_eviction_score(fact(10, category, 0.5), NOW) == pytest.approx(10 * weight / 0.5)


def test_of_equal_age_lower_confidence_and_higher_weight_are_evicted_first():
    keep, unsure, project = fact(10), fact(10, confidence=0.5), fact(10, "project")
    facts = [keep, unsure, project, *(fact(2) for _ in range(120))]
    assert choose_evicted_facts(facts, 122, NOW) == [project.id, unsure.id]


@given(facts, others)
def test_facts_stay_at_most_at_the_cap_and_at_least_at_the_threshold(known, elsewhere):
    held = len(known) + elsewhere
    left = held - len(choose_evicted_facts(known, held, NOW))
    assert left <= CAP
    assert left >= min(held, PRUNE_FROM)


@given(facts, others)
def test_few_are_evicted_at_once_unless_the_cap_is_exceeded(known, elsewhere):
    held = len(known) + elsewhere
    assert len(choose_evicted_facts(known, held, NOW)) <= max(MAX_GRADUAL_EVICTIONS, held - CAP)


@given(facts, others)
def test_facts_of_today_are_evicted_after_older_ones(known, elsewhere):
    leaving = set(choose_evicted_facts(known, len(known) + elsewhere, NOW))
    today = {f.id for f in known if NOW - f.last_seen < timedelta(days=1)}
    older = {f.id for f in known} - today
    assert not leaving & today or older <= leaving


@given(facts, others)
def test_of_older_facts_the_highest_scores_are_evicted(known, elsewhere):
    leaving = set(choose_evicted_facts(known, len(known) + elsewhere, NOW))
    older = [f for f in known if NOW - f.last_seen >= timedelta(days=1)]
    gone = [compute_eviction_score(f, NOW) for f in older if f.id in leaving]
    stay = [compute_eviction_score(f, NOW) for f in older if f.id not in leaving]
    assert not gone or not stay or min(gone) >= max(stay)


@given(facts, others, st.data())
def test_new_facts_are_evicted_last(known, elsewhere, data):
    keep = {f.id for f in known if data.draw(st.booleans())}
    leaving = choose_evicted_facts(known, len(known) + elsewhere, NOW, keep=keep)
    assert not keep & set(leaving) or {f.id for f in known} - keep <= set(leaving)


def test_new_facts_are_not_evicted_because_of_pending_deletions():
    new, newer, old = fact(), fact(), fact(3)
    assert choose_evicted_facts([new, newer], 152, NOW, pending=150, keep=[newer.id]) == []
    assert choose_evicted_facts([new, newer, old], 153, NOW, pending=150, keep=[newer.id]) == [old.id]


def test_a_confidence_of_zero_has_a_score():
    assert compute_eviction_score(fact(1, confidence=0.0), NOW) == pytest.approx(30)


def test_a_date_in_the_future_gives_an_age_of_zero():
    assert compute_eviction_score(fact(-1), NOW) == 0
