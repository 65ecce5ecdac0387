"""Where the bars and lines of a small chart go: pure arithmetic, in the units of its drawing."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# A drawing fits a phone of 360 pixels as it is, so that its words keep their size there.
WIDTH, HEIGHT = 340.0, 130.0
_LEFT, _RIGHT, _TOP, _FLOOR = 38.0, 2.0, 8.0, 110.0
# Of a part's width; what remains lies between the bars.
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
class Line:
    """One curve: the points of a polyline, and where values stand alone with no neighbour."""

    series: int
    points: str
    dots: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Level:
    """A line across at a round value."""

    y: float
    value: float


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing: blocks or curves over levels; `columns` are the middles of the parts."""

    levels: tuple[Level, ...]
    columns: tuple[float, ...]
    bars: tuple[Bar, ...] = ()
    lines: tuple[Line, ...] = ()


def ceiling(value: float) -> float:
    """Return the round number at or above a value: 1, 2 or 5 times a power of ten; 1 for nothing."""
    # Of what is smaller than that, the power of ten would be 0, and heights are divided by it.
    if value < sys.float_info.min or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in (1, 2, 5) if step * power >= value), 10 * power)


def stacked(series: Sequence[Sequence[float]]) -> Chart:
    """Return columns in which each series stands on those before it; all series have the same length."""
    sums = [sum(parts) for parts in zip(*series, strict=True)]
    top = ceiling(max(sums, default=0))
    columns, width = _columns(len(sums))
    bars, floor = [], [0.0] * len(sums)
    for number, values in enumerate(series):
        for place, value in enumerate(values):
            if value > 0:
                y = _height(floor[place] + value, top)
                tall = _height(floor[place], top) - y
                bars.append(Bar(number, columns[place] - width / 2, y, width, tall))
                floor[place] += value
    return Chart(_levels(top), columns, bars=tuple(bars))


def curves(series: Sequence[Sequence[float | None]]) -> Chart:
    """Return one curve a series; where there is no value, the curve goes straight to the next one."""
    top = ceiling(max((v for values in series for v in values if v is not None), default=0))
    columns, _width = _columns(len(series[0]) if series else 0)
    lines = []
    for number, values in enumerate(series):
        known = [(columns[i], _height(v, top)) for i, v in enumerate(values) if v is not None]
        lines.append(Line(number, _path(known), tuple(known) if len(known) == 1 else ()))
    return Chart(_levels(top), columns, lines=tuple(lines))


def _columns(count: int) -> tuple[tuple[float, ...], float]:
    """Return the middles of so many parts, and how wide a bar is."""
    step = (WIDTH - _LEFT - _RIGHT) / max(1, count)
    return tuple(_LEFT + step * (place + 0.5) for place in range(count)), step * _FILLED


def _levels(top: float) -> tuple[Level, ...]:
    return tuple(Level(_height(value, top), value) for value in (0.0, top / 2, top))


def _height(value: float, top: float) -> float:
    return _FLOOR - (_FLOOR - _TOP) * value / top


def _path(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
