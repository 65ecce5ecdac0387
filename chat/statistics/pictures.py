"""Turns statistics into captioned charts, and energy and purposes into sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.formats import date_format, number_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from chat.actions.energy import EnergyStatus

from .charts import Chart, draw_curves, percentile, stack_columns
from .span import Span
from .usage import UsageSummary

# A label below each sixth hour, or each seventh day.
_EVERY = {"day": 6, "month": 7}
# Offset of the labels from the last part, where a label would not fit.
_LAST = 2


@dataclass(frozen=True, slots=True)
class CaptionedChart:
    """A chart with its title, a description for screen readers, its series, and the rows of its table."""

    name: str
    title: str
    description: str
    chart: Chart
    series: Sequence[str]
    marks: Sequence[tuple[float, str]]
    levels: Sequence[tuple[float, str]]
    rows: Sequence[tuple[str, Sequence[str]]]
    unit: str


def chart_memories(found: UsageSummary) -> CaptionedChart:
    """Return the new facts and app memories, stacked."""
    values = [found.facts, found.app_memories]
    return _build(
        "memories",
        _("New memories"),
        found.span,
        stack_columns(values),
        [_("Facts"), _("App memories")],
        values,
    )


def chart_background_work(found: UsageSummary) -> CaptionedChart:
    """Return the seconds of model time that background work used."""
    values = [[round(seconds, 1) for seconds in found.background]]
    return _build(
        "energy",
        _("Background work"),
        found.span,
        stack_columns(values),
        [_("Seconds of model time")],
        values,
        1,
    )


def chart_prompt_tokens(found: UsageSummary) -> CaptionedChart:
    """Return the prompt tokens that the model evaluated, and those that it had cached."""
    values = [found.read, found.cached]
    return _build(
        "tokens",
        _("Tokens of prompts"),
        found.span,
        stack_columns(values),
        [_("Read anew"), _("Known")],
        values,
    )


def chart_first_tokens(found: UsageSummary) -> CaptionedChart:
    """Return the seconds to the first token of replies: median and 95th percentile."""
    values = [
        [None if (ms := percentile(waits, share)) is None else ms / 1000 for waits in found.first_token_waits]
        for share in (0.5, 0.95)
    ]
    names = [_("Half began within"), _("19 of 20 began within")]
    return _build(
        "first-words", _("Seconds to the first word"), found.span, draw_curves(values), names, values, 2
    )


def _build(
    name: str,
    title: str,
    span: Span,
    chart: Chart,
    series: Sequence[str],
    values: Sequence[Sequence[float | None]],
    places: int = 0,
) -> CaptionedChart:
    starts = span.starts
    told = [(start, parts) for start, *parts in zip(starts, *values, strict=True) if any(parts)]
    rows = [
        (_format_start(start, span), [_format_number(value, places) for value in parts])
        for start, parts in reversed(told)
    ]
    every = _EVERY[span.name]
    marks = [
        (chart.columns[i], _format_label(starts[i], span))
        for i in range(len(starts))
        if (len(starts) - 1 - i) % every == _LAST
    ]
    per = _("an hour") if span.hourly else _("a day")
    return CaptionedChart(
        name,
        title,
        _describe(span, told, series, places),
        chart,
        series,
        marks,
        [(level.y, _format_short(level.value)) for level in chart.levels],
        rows,
        per,
    )


def _describe(
    span: Span, told: Sequence[tuple[datetime, Sequence[float | None]]], series: Sequence[str], places: int
) -> str:
    """Return a description of the chart for screen readers: where each series has its maximum."""
    if not told:
        return _("Nothing yet.")
    said = []
    for number, name in enumerate(series):
        start, parts = max(told, key=lambda row: row[1][number] or 0)
        if parts[number]:
            said.append(
                _("%(name)s: at most %(value)s, %(when)s")
                % {
                    "name": name,
                    "value": _format_number(parts[number], places),
                    "when": _format_start(start, span),
                }
            )
    return "; ".join(said)


def _format_start(start: datetime, span: Span) -> str:
    """Return a part of the span in words: an hour with its day, or a day."""
    return date_format(start, "SHORT_DATETIME_FORMAT" if span.hourly else "DATE_FORMAT")


def _format_label(start: datetime, span: Span) -> str:
    return date_format(start, "TIME_FORMAT" if span.hourly else _SHORT_DAY)


_SHORT_DAY = "j. M"


def _format_number(value: float | None, places: int) -> str:
    """Return a number in the reader's format, a dash for None."""
    return "–" if value is None else number_format(value, places, force_grouping=True)


def _format_short(value: float) -> str:
    """Return a round number in few characters: 0.5, 20, 50k, 2M."""
    if value >= 1_000_000:
        return f"{number_format(f'{value / 1_000_000:g}')}M"
    if value >= 10_000:
        return f"{number_format(f'{value / 1000:g}')}k"
    return str(number_format(f"{value:g}"))


# By the purpose of a UsageRecord.
PURPOSES: dict[str, Any] = {
    "reply": lazy("Replies"),
    "extract": lazy("Reading messages"),
    "consolidate": lazy("Comparing with what is known"),
    "title": lazy("Finding titles"),
    "summary": lazy("Summing up"),
    "app_memory": lazy("Writing app memories"),
    "app_choice": lazy("Choosing among app memories"),
    "classify": lazy("Sorting what you added"),
    "warm": lazy("Reading prompts in advance"),
}


def describe_energy(status: EnergyStatus) -> str:
    """Return a sentence about the energy budget: whether work waits, which, and until when."""
    if not status.low or status.until is None:
        return _("Energy for background work: %(percent)d %%. Nothing waits.") % {"percent": status.percent}
    clock = date_format(localtime(status.until), "TIME_FORMAT")
    if not status.deferred:
        return _("Energy for background work is low: new work waits until %(clock)s.") % {"clock": clock}
    kinds = ", ".join(f"{kind.words} ({kind.count})" for kind in status.deferred)
    return _("Background work waits until %(clock)s: %(kinds)s.") % {"clock": clock, "kinds": kinds}


def describe_purpose(name: str) -> str:
    """Return the purpose of a model call in words."""
    return str(PURPOSES.get(name, name))
