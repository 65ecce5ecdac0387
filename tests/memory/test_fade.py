"""How confidence fades: nothing for thirty unused days, the floor on the limit of the category."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.memory.confidence import baseline
from chat.memory.fade import daily_factor, faded, has_faded_away

LIMITS = [("project", 60), ("preference", 180), ("identity", 365)]
each_limit = pytest.mark.parametrize(("category", "limit"), LIMITS)
each_origin = pytest.mark.parametrize("origin", ["extracted", "told", "manual", "highlight"])
categories = st.sampled_from([category for category, _ in LIMITS])
origins = st.sampled_from(["extracted", "manual"])


@each_limit
@each_origin
def test_a_baseline_stands_for_thirty_days_and_is_at_a_tenth_on_its_limit(category, limit, origin):
    begin = baseline(origin)
    assert faded(begin, category, origin, 0, 30) == begin
    assert faded(begin, category, origin, 0, 31) < begin
    assert faded(begin, category, origin, 0, limit) == pytest.approx(0.1)


@each_limit
@each_origin
def test_it_goes_to_the_archive_on_the_day_after_its_limit(category, limit, origin):
    confidence = baseline(origin)
    for day in range(limit):
        confidence = faded(confidence, category, origin, day, day + 1)
        assert not has_faded_away(confidence)
    assert has_faded_away(faded(confidence, category, origin, limit, limit + 1))


@each_limit
def test_what_was_repeated_lasts_longer(category, limit):
    assert faded(1.0, category, "extracted", 0, limit) > 0.13


@given(st.floats(0.1, 1), categories, origins, st.integers(0, 500), st.integers(0, 100), st.integers(0, 100))
def test_caught_up_in_one_pass_or_in_many_it_is_the_same(confidence, category, origin, idle, some, more):
    once = faded(confidence, category, origin, idle, idle + some + more)
    first = faded(confidence, category, origin, idle, idle + some)
    assert faded(first, category, origin, idle + some, idle + some + more) == pytest.approx(once)


@given(st.floats(0.1, 1), categories, origins, st.integers(0, 500), st.integers(0, 500))
def test_it_never_grows(confidence, category, origin, idle, more):
    assert faded(confidence, category, origin, idle, idle + more) <= confidence


@given(categories, origins)
def test_a_factor_is_a_share(category, origin):
    assert 0.9 < daily_factor(category, origin) < 1
