"""The energy budget: 180 seconds of background model time, refilled within an hour."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from chat.memory import energy

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
hours = lambda n: timedelta(hours=n)  # noqa: E731


@pytest.mark.parametrize(
    ("level", "pause", "then"),
    [
        (0.0, hours(1), 180.0),
        (0.0, hours(0.5), 90.0),
        (100.0, hours(24 * 7), 180.0),
        (-90.0, hours(0.5), 0.0),
        (100.0, hours(0), 100.0),
        # A clock that went backwards takes nothing.
        (100.0, hours(-1000), 100.0),
        (999.0, hours(0), 180.0),
    ],
)
def test_the_level_refills_to_its_capacity_in_an_hour(level, pause, then):
    assert energy.refill_level(level, NOW, NOW + pause) == pytest.approx(then)


@pytest.mark.parametrize(
    ("level", "seconds", "left"),
    [(180.0, 3.0, 177.0), (10.0, 30.0, -20.0), (10.0, 1e9, -180.0), (10.0, -5.0, 10.0)],
)
def test_a_second_of_work_takes_a_unit_down_to_a_minimum(level, seconds, left):
    assert energy.subtract_work(level, seconds) == left


@pytest.mark.parametrize(("level", "low"), [(36.0, True), (36.1, False), (-5.0, True), (180.0, False)])
def test_a_level_of_a_fifth_and_below_is_low(level, low):
    assert energy.is_low(level) is low


@pytest.mark.parametrize("level", [36.0, 35.9, 0.0, -180.0])
def test_the_predicted_time_is_when_the_level_is_not_low_any_more(level):
    then = energy.predict_recovery(level, NOW)
    assert not energy.is_low(energy.refill_level(level, NOW, then))
    assert energy.is_low(energy.refill_level(level, NOW, then - timedelta(seconds=2)))


def test_a_level_that_is_not_low_predicts_now():
    assert energy.predict_recovery(40.0, NOW) == NOW


@pytest.mark.parametrize(("level", "percent"), [(180.0, 100), (36.0, 20), (35.9, 19), (0.0, 0), (-50.0, 0)])
def test_the_level_is_a_whole_percentage(level, percent):
    assert energy.to_percent(level) == percent
