"""How confidence decays: not for thirty unused days, then to the floor on the expiry of the category."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.confidence import (
    compute_daily_decay_factor,
    decay_confidence,
    get_initial_confidence,
    is_below_floor,
)

LIMITS = [("project", 60), ("preference", 180), ("identity", 365)]
each_limit = pytest.mark.parametrize(("category", "limit"), LIMITS)
each_origin = pytest.mark.parametrize("origin", ["extracted", "told", "manual", "highlight"])
categories = st.sampled_from([category for category, _ in LIMITS])
origins = st.sampled_from(["extracted", "manual"])


@each_limit
@each_origin
def test_the_initial_confidence_lasts_thirty_days_and_reaches_the_floor_on_expiry(category, limit, origin):
    begin = get_initial_confidence(origin)
    assert decay_confidence(begin, category, origin, 0, 30) == begin
    assert decay_confidence(begin, category, origin, 0, 31) < begin
    assert decay_confidence(begin, category, origin, 0, limit) == pytest.approx(0.1)


@each_limit
@each_origin
def test_a_fact_is_archived_on_the_day_after_its_expiry(category, limit, origin):
    confidence = get_initial_confidence(origin)
    for day in range(limit):
        confidence = decay_confidence(confidence, category, origin, day, day + 1)
        assert not is_below_floor(confidence)
    assert is_below_floor(decay_confidence(confidence, category, origin, limit, limit + 1))


@each_limit
def test_a_repeated_fact_lasts_longer(category, limit):
    assert decay_confidence(1.0, category, "extracted", 0, limit) > 0.13


@given(st.floats(0.1, 1), categories, origins, st.integers(0, 500), st.integers(0, 100), st.integers(0, 100))
def test_one_pass_or_many_give_the_same_confidence(confidence, category, origin, idle, some, more):
    once = decay_confidence(confidence, category, origin, idle, idle + some + more)
    first = decay_confidence(confidence, category, origin, idle, idle + some)
    assert decay_confidence(first, category, origin, idle + some, idle + some + more) == pytest.approx(once)


@given(st.floats(0.1, 1), categories, origins, st.integers(0, 500), st.integers(0, 500))
def test_decay_never_raises_confidence(confidence, category, origin, idle, more):
    assert decay_confidence(confidence, category, origin, idle, idle + more) <= confidence


@given(categories, origins)
def test_the_daily_factor_is_between_zero_and_one(category, origin):
    assert 0.9 < compute_daily_decay_factor(category, origin) < 1
