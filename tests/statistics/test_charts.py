"""Bars and curves stay inside their drawing and have the height of their values."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chat.statistics.charts import HEIGHT, WIDTH, draw_curves, round_up, stack_columns

amounts = st.floats(0, 1e12, allow_nan=False)
columns = st.integers(1, 40).flatmap(
    lambda n: st.lists(st.lists(amounts, min_size=n, max_size=n), min_size=1, max_size=3)
)


@given(st.floats(1e-9, 1e15))
def test_the_top_of_the_scale_is_a_round_number_not_far_above_the_value(value):
    top = round_up(value)
    assert value <= top <= 2.5001 * value
    assert f"{top:.0e}"[0] in "125"


@given(columns)
def test_bars_stay_inside_and_are_stacked(series):
    chart = stack_columns(series)
    assert len(chart.columns) == len(series[0])
    assert list(chart.columns) == sorted(chart.columns)
    for bar in chart.bars:
        assert 0 <= bar.x <= bar.x + bar.width <= WIDTH
        assert -1e-6 <= bar.y <= bar.y + bar.height <= HEIGHT
    for x in {bar.x for bar in chart.bars}:
        tower = [bar for bar in chart.bars if bar.x == x]
        for below, above in itertools.pairwise(tower):
            assert above.y + above.height == pytest.approx(below.y)


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=24))
def test_the_height_of_bars_is_proportional_to_their_values(values):
    bars = stack_columns([values]).bars
    for value, bar in zip(values, bars, strict=True):
        assert bar.height / bars[0].height == pytest.approx(value / values[0], rel=1e-6)


@given(st.lists(st.none() | amounts, min_size=1, max_size=40))
@example([5e-324])
def test_a_curve_has_a_point_for_each_known_value(values):
    (line,) = draw_curves([values]).lines
    known = [value for value in values if value is not None]
    assert len(line.points.split()) == len(known)
    # A single point is drawn as a dot.
    assert len(line.dots) == (1 if len(known) == 1 else 0)


def test_a_chart_without_values_has_levels_and_no_bars():
    chart = stack_columns([[0, 0], [0, 0]])
    assert [level.value for level in chart.levels] == [0, 0.5, 1]
    assert chart.bars == ()
