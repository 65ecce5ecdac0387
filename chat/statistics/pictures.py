"""Turns what was counted into what the page draws: small charts, each with its words and its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _

from .charts import Chart, curves, stacked
from .figures import Figures
from .shares import percentile
from .span import Span

# A word below each sixth hour, or each seventh day.
_EVERY = {"day": 6, "month": 7}
# So many parts before the last one, whose own word would not fit.
_LAST = 2


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart with what it says: its title and description, its series, and the rows of its table."""

    name: str
    title: str
    description: str
    chart: Chart
    series: Sequence[str]
    marks: Sequence[tuple[float, str]]
    levels: Sequence[tuple[float, str]]
    rows: Sequence[tuple[str, Sequence[str]]]
    unit: str


def memories(found: Figures) -> Picture:
    """Return what was remembered anew, facts and app memories one upon the other."""
    values = [found.facts, found.app_memories]
    return _picture(
        "memories", _("New memories"), found.span, stacked(values), [_("Facts"), _("App memories")], values
    )


def energy(found: Figures) -> Picture:
    """Return the seconds of model time that background work took."""
    values = [[round(seconds, 1) for seconds in found.background]]
    return _picture(
        "energy", _("Background work"), found.span, stacked(values), [_("Seconds of model time")], values, 1
    )


def tokens(found: Figures) -> Picture:
    """Return what the model read anew and what it knew from the last prompt."""
    values = [found.read, found.cached]
    return _picture(
        "tokens", _("Tokens of prompts"), found.span, stacked(values), [_("Read anew"), _("Known")], values
    )


def first_words(found: Figures) -> Picture:
    """Return how long replies took to begin, in seconds: the usual one, and the slowest of twenty."""
    values = [
        [None if (ms := percentile(waits, share)) is None else ms / 1000 for waits in found.first_words]
        for share in (0.5, 0.95)
    ]
    names = [_("Half began within"), _("19 of 20 began within")]
    return _picture(
        "first-words", _("Seconds to the first word"), found.span, curves(values), names, values, 2
    )


def _picture(
    name: str,
    title: str,
    span: Span,
    chart: Chart,
    series: Sequence[str],
    values: Sequence[Sequence[float | None]],
    places: int = 0,
) -> Picture:
    starts = span.starts
    told = [(start, parts) for start, *parts in zip(starts, *values, strict=True) if any(parts)]
    rows = [
        (_when(start, span), [_number(value, places) for value in parts]) for start, parts in reversed(told)
    ]
    every = _EVERY[span.name]
    marks = [
        (chart.columns[i], _mark(starts[i], span))
        for i in range(len(starts))
        if (len(starts) - 1 - i) % every == _LAST
    ]
    per = _("an hour") if span.hourly else _("a day")
    return Picture(
        name,
        title,
        _describe(span, told, series, places),
        chart,
        series,
        marks,
        [(level.y, _brief(level.value)) for level in chart.levels],
        rows,
        per,
    )


def _describe(
    span: Span, told: Sequence[tuple[datetime, Sequence[float | None]]], series: Sequence[str], places: int
) -> str:
    """Return what the drawing shows, for who cannot see it: where each series was highest."""
    if not told:
        return _("Nothing yet.")
    said = []
    for number, name in enumerate(series):
        start, parts = max(told, key=lambda row: row[1][number] or 0)
        if parts[number]:
            said.append(
                _("%(name)s: at most %(value)s, %(when)s")
                % {"name": name, "value": _number(parts[number], places), "when": _when(start, span)}
            )
    return "; ".join(said)


def _when(start: datetime, span: Span) -> str:
    """Return a part in words: an hour with its day, or a day."""
    return date_format(start, "SHORT_DATETIME_FORMAT" if span.hourly else "DATE_FORMAT")


def _mark(start: datetime, span: Span) -> str:
    return date_format(start, "TIME_FORMAT" if span.hourly else _SHORT_DAY)


_SHORT_DAY = "j. M"


def _number(value: float | None, places: int) -> str:
    """Return a number as the reader writes it, a dash where there is none."""
    return "–" if value is None else number_format(value, places, force_grouping=True)


def _brief(value: float) -> str:
    """Return a round number in the few characters that there is room for: 0.5, 20, 50k, 2M."""
    if value >= 1_000_000:
        return f"{number_format(f'{value / 1_000_000:g}')}M"
    if value >= 10_000:
        return f"{number_format(f'{value / 1000:g}')}k"
    return str(number_format(f"{value:g}"))
