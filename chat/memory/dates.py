"""Replaces relative dates in a fact by absolute ones, because "yesterday" is wrong a day later.

Ambiguous dates ("on Friday", "last summer") are not replaced.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import partial

from .date_language import DateLanguage, RelativePattern, find_date_language


def resolve_relative_dates(text: str, today: date) -> str:
    """Return a fact with absolute dates; `today` is the user's local date when the message was written."""
    language = find_date_language(text)
    for pattern in language.relative:
        text = pattern.words.sub(partial(_replace_match, pattern, today, language), text)
    return text


def has_relative_date(text: str) -> bool:
    """Return whether a text has a date that depends on the day on which it was written."""
    return any(pattern.words.search(text) for pattern in find_date_language(text).relative)


def _replace_match(
    pattern: RelativePattern, today: date, language: DateLanguage, match: re.Match[str]
) -> str:
    """Return the absolute date for a match, with the preposition and the capital letter of the match."""
    is_capital = match[0][0].isupper()
    if is_capital and match.start():
        return match[0]  # A capital inside a sentence is a name: "USA Today".
    form, day = _find_day(pattern, match, today, language)
    preposition = match["after"]
    phrase = language.write(form, day, bare=bool(preposition))
    if preposition:
        phrase = f"{preposition} {phrase}"
        for long, short in language.contractions.items():
            if phrase.casefold().startswith(long):
                phrase = short + phrase[len(long) :]
    elif before := match.groupdict().get("before"):
        phrase = f"{before} {phrase}"
    return phrase[0].upper() + phrase[1:] if is_capital else phrase


def _find_day(
    pattern: RelativePattern, match: re.Match[str], today: date, language: DateLanguage
) -> tuple[str, date]:
    """Return the form of the date ("day", "week" …) and its first day."""
    if pattern.unit == "away":
        # As precise as the unit that was named.
        unit = language.parse_unit(match["unit"])
        return unit, move(today, unit, pattern.offset * language.parse_count(match["count"]))
    if pattern.unit == "weekday":
        # The first such day before today, or after today.
        distance = pattern.offset * (language.number_weekday(match["weekday"]) - today.weekday()) % 7 or 7
        return "day", _add_days(today, pattern.offset * distance)
    if pattern.unit == "weekday of week":
        weekday = language.number_weekday(match["weekday"])
        return "day", _add_days(move(today, "week", pattern.offset), weekday)
    return pattern.unit, move(today, pattern.unit, pattern.offset)


def move(day: date, unit: str, offset: int) -> date:
    """Return the first day of the unit that is `offset` units after the one that contains `day`.

    A unit is "day", "week" (from Monday), "weekend", "month" or "year". Days end where the calendar ends.
    """
    if unit == "day":
        return _add_days(day, offset)
    if unit in ("week", "weekend"):
        return _add_days(day, 7 * offset - day.weekday() + 5 * (unit == "weekend"))
    months = offset * (12 if unit == "year" else 1)
    year, month = divmod(day.year * 12 + (0 if unit == "year" else day.month - 1) + months, 12)
    if not date.min.year <= year <= date.max.year:
        return date.min if offset < 0 else date.max
    return date(year, month + 1, 1)


def _add_days(day: date, days: int) -> date:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return date.min if days < 0 else date.max
