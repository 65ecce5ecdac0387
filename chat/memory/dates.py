"""Relative dates in a fact become dates, since "yesterday" is wrong by tomorrow (design §5)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


def _day(offset: int) -> Callable[[date], str]:
    return lambda today: f"on {_written(today + timedelta(days=offset))}"


def _month(offset: int) -> Callable[[date], str]:
    def resolved(today: date) -> str:
        index = today.year * 12 + today.month - 1 + offset
        return f"in {_MONTHS[index % 12]} {index // 12}"

    return resolved


def _year(offset: int) -> Callable[[date], str]:
    return lambda today: f"in {today.year + offset}"


# English only: a fact keeps the user's language, and a date put into another grammar would read as broken.
_RELATIVE: tuple[tuple[re.Pattern[str], Callable[[date], str]], ...] = tuple(
    (re.compile(rf"\b{words}\b", re.I), resolved)
    for words, resolved in (
        ("(?<!than )yesterday", _day(-1)),
        ("(?:today|tonight)", _day(0)),
        ("tomorrow", _day(1)),
        ("last month", _month(-1)),
        ("this month", _month(0)),
        ("next month", _month(1)),
        ("last year", _year(-1)),
        ("this year", _year(0)),
        ("next year", _year(1)),
    )
)


def resolve(text: str, today: date) -> str:
    """Return an English fact with its relative dates as dates; `today` is the user's local date."""
    for pattern, resolved in _RELATIVE:
        text = pattern.sub(resolved(today), text)
    return text


def _written(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
