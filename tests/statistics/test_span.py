"""The parts of a time span have no gaps, also when the clocks change."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.statistics.charts import percent, percentile
from chat.statistics.span import DAYS, HOURS, Span

ZONES = [ZoneInfo(n) for n in ("UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia")]
moments = st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC))
spans = st.builds(Span, st.sampled_from(["day", "month"]), moments, st.sampled_from(ZONES))


@given(spans)
def test_the_last_part_contains_now_and_no_part_is_missing(span):
    starts = [start.astimezone(UTC) for start in span.starts]
    assert len(starts) == len(set(starts)) == len(span.parts) == (HOURS if span.hourly else DAYS)
    steps = {b - a for a, b in itertools.pairwise(starts)}
    longest = timedelta(hours=1) if span.hourly else timedelta(hours=25)
    assert all(timedelta() < step <= longest for step in steps)
    assert starts[-1] <= span.now < starts[-1] + longest


@given(spans)
def test_the_hours_of_a_span_are_those_that_have_passed(span):
    assert 0 < span.hours <= (24 if span.hourly else 30 * 24 + 1)


def test_the_night_when_summer_time_ends_has_each_hour_once():
    berlin = ZoneInfo("Europe/Berlin")
    span = Span("day", datetime(2026, 10, 25, 12, 0, tzinfo=UTC), berlin)
    assert len({start.astimezone(UTC) for start in span.starts}) == 24
    assert [start.hour for start in span.starts].count(2) == 2
    assert span.hours == pytest.approx(23)


def test_a_day_starts_at_midnight_of_the_owner():
    span = Span("month", datetime(2026, 3, 1, 3, 0, tzinfo=UTC), ZoneInfo("America/New_York"))
    assert str(span.starts[-1].date()) == "2026-02-28"


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1))
def test_a_percentile_is_the_smallest_value_that_enough_values_do_not_exceed(values, share):
    found = percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) < share * len(values) + 1e-9


def test_no_values_have_no_percentile_and_no_share():
    assert percentile([], 0.5) is None
    assert percent(0, 0) is None
