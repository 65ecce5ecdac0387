"""Geometry of small charts, percentages and percentiles.

Pure functions; lengths are in units of the drawing.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# The drawing is as wide as a phone of 360 CSS pixels, so its text is not scaled there.
WIDTH, HEIGHT = 340.0, 130.0
_LEFT, _RIGHT, _TOP, _FLOOR = 38.0, 2.0, 8.0, 110.0
# Width of a bar as a share of its part.
_FILLED = 0.72


@dataclass(frozen=True, slots=True)
class Bar:
    """One block of a column."""

    series: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class ChartCurve:
    """The points of a polyline, and single values without a neighbour as dots."""

    series: int
    points: str
    dots: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line at a round value."""

    y: float
    value: float


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing: bars or lines over horizontal levels.

    `columns` are the x positions of the middles of the parts.
    """

    levels: tuple[Level, ...]
    columns: tuple[float, ...]
    bars: tuple[Bar, ...] = ()
    lines: tuple[ChartCurve, ...] = ()


def round_up(value: float) -> float:
    """Return the smallest number that is 1, 2 or 5 times a power of ten and not below `value`; 1 for zero."""
    # For smaller values the power of ten would be 0, and heights are divided by it.
    if value < sys.float_info.min or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in (1, 2, 5) if step * power >= value), 10 * power)


def stack_columns(series: Sequence[Sequence[float]]) -> Chart:
    """Return columns in which each series is stacked on those before it. All series have the same length."""
    sums = [sum(parts) for parts in zip(*series, strict=True)]
    top = round_up(max(sums, default=0))
    columns, width = _columns(len(sums))
    bars, floor = [], [0.0] * len(sums)
    for number, values in enumerate(series):
        for place, value in enumerate(values):
            if value > 0:
                y = _scale(floor[place] + value, top)
                tall = _scale(floor[place], top) - y
                bars.append(Bar(number, columns[place] - width / 2, y, width, tall))
                floor[place] += value
    return Chart(_levels(top), columns, bars=tuple(bars))


def draw_curves(series: Sequence[Sequence[float | None]]) -> Chart:
    """Return one curve for each series; a straight line connects the values around a missing one (None)."""
    top = round_up(max((v for values in series for v in values if v is not None), default=0))
    columns, _width = _columns(len(series[0]) if series else 0)
    lines = []
    for number, values in enumerate(series):
        known = [(columns[i], _scale(v, top)) for i, v in enumerate(values) if v is not None]
        lines.append(ChartCurve(number, _format_points(known), tuple(known) if len(known) == 1 else ()))
    return Chart(_levels(top), columns, lines=tuple(lines))


def _columns(count: int) -> tuple[tuple[float, ...], float]:
    """Return the middles of `count` parts, and the width of a bar."""
    step = (WIDTH - _LEFT - _RIGHT) / max(1, count)
    return tuple(_LEFT + step * (place + 0.5) for place in range(count)), step * _FILLED


def _levels(top: float) -> tuple[Level, ...]:
    return tuple(Level(_scale(value, top), value) for value in (0.0, top / 2, top))


def _scale(value: float, top: float) -> float:
    return _FLOOR - (_FLOOR - _TOP) * value / top


def _format_points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def percent(part: float, whole: float) -> int | None:
    """Return `part` of `whole` in whole percent, None where `whole` is 0."""
    return round(100 * part / whole) if whole else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least `share` (0 to 1) of the values do not exceed (nearest rank);
    None without values.
    """
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
