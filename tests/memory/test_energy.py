"""A unit is a second of background model time: 180 of them, refilled in an hour (seed 003, "Energy")."""

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
def test_it_refills_to_its_capacity_in_an_hour(level, pause, then):
    assert energy.refilled(level, NOW, NOW + pause) == pytest.approx(then)


@pytest.mark.parametrize(
    ("level", "seconds", "left"),
    [(180.0, 3.0, 177.0), (10.0, 30.0, -20.0), (10.0, 1e9, -180.0), (10.0, -5.0, 10.0)],
)
def test_a_second_of_work_takes_a_unit_and_debts_have_an_end(level, seconds, left):
    assert energy.spent(level, seconds) == left


@pytest.mark.parametrize(("level", "low"), [(36.0, True), (36.1, False), (-5.0, True), (180.0, False)])
def test_at_a_fifth_and_below_it_is_low(level, low):
    assert energy.is_low(level) is low


@pytest.mark.parametrize("level", [36.0, 35.9, 0.0, -180.0])
def test_it_says_when_there_is_enough_again_and_no_sooner(level):
    then = energy.enough_at(level, NOW)
    assert not energy.is_low(energy.refilled(level, NOW, then))
    assert energy.is_low(energy.refilled(level, NOW, then - timedelta(seconds=2)))


def test_where_there_is_enough_that_is_now():
    assert energy.enough_at(40.0, NOW) == NOW


@pytest.mark.parametrize(("level", "percent"), [(180.0, 100), (36.0, 20), (35.9, 19), (0.0, 0), (-50.0, 0)])
def test_it_is_shown_in_whole_percent(level, percent):
    assert energy.percent(level) == percent
