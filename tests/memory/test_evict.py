"""Which facts make room: the design's numbers, whatever is known."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.evict import A_FEW, CAP, PRUNE_FROM, Evictable, choose, score

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
    assert score(fact(10, category, 0.5), NOW) == pytest.approx(10 * weight / 0.5)


def test_of_equal_age_the_less_certain_and_the_heavier_kind_leave_first():
    keep, unsure, project = fact(10), fact(10, confidence=0.5), fact(10, "project")
    facts = [keep, unsure, project, *(fact(2) for _ in range(120))]
    assert choose(facts, 122, NOW) == [project.id, unsure.id]


@given(facts, others)
def test_never_more_than_the_cap_and_never_below_the_threshold(known, elsewhere):
    held = len(known) + elsewhere
    left = held - len(choose(known, held, NOW))
    assert left <= CAP
    assert left >= min(held, PRUNE_FROM)


@given(facts, others)
def test_only_a_few_leave_at_once_unless_the_cap_is_passed(known, elsewhere):
    held = len(known) + elsewhere
    assert len(choose(known, held, NOW)) <= max(A_FEW, held - CAP)


@given(facts, others)
def test_what_was_said_today_never_leaves_before_what_was_not(known, elsewhere):
    leaving = set(choose(known, len(known) + elsewhere, NOW))
    today = {f.id for f in known if NOW - f.last_seen < timedelta(days=1)}
    older = {f.id for f in known} - today
    assert not leaving & today or older <= leaving


@given(facts, others)
def test_among_the_older_the_highest_scores_leave(known, elsewhere):
    leaving = set(choose(known, len(known) + elsewhere, NOW))
    older = [f for f in known if NOW - f.last_seen >= timedelta(days=1)]
    gone = [score(f, NOW) for f in older if f.id in leaving]
    stay = [score(f, NOW) for f in older if f.id not in leaving]
    assert not gone or not stay or min(gone) >= max(stay)


@given(facts, others, st.data())
def test_what_was_just_added_leaves_last(known, elsewhere, data):
    keep = {f.id for f in known if data.draw(st.booleans())}
    leaving = choose(known, len(known) + elsewhere, NOW, keep=keep)
    assert not keep & set(leaving) or {f.id for f in known} - keep <= set(leaving)


def test_what_was_just_said_makes_no_room_for_what_is_on_its_way_out():
    new, newer, old = fact(), fact(), fact(3)
    assert choose([new, newer], 152, NOW, pending=150, keep=[newer.id]) == []
    assert choose([new, newer, old], 153, NOW, pending=150, keep=[newer.id]) == [old.id]


def test_a_fact_that_is_not_sure_at_all_has_a_score():
    assert score(fact(1, confidence=0.0), NOW) == pytest.approx(30)


def test_a_date_in_the_future_is_no_age():
    assert score(fact(-1), NOW) == 0
