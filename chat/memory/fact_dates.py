"""From when and until when a fact holds, and on which day an age or a duration in it was said.

"User's marathon is on 12 April" holds until that day. "User's son is 3" is told with the month in which it
was said, since it is wrong a year later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache

from .date_language import DateLanguage, find_date_language
from .dates import has_relative_date, move, resolve_relative_dates
from .formatting import extract_own_words
from .kinds import KINDS

UNDATED = "is-undated"
_DAY = timedelta(days=1)
# Kinds in which a number after "is" is an age: "User's son is 3".
_KINDS_WITH_AGE = frozenset({"age", "family", "pet"})
# Of a long message only this many characters at its beginning and at its end are searched for dates.
_PART_READ = 1000
# How long a week and a weekend last after their first day.
_SPANS = {"week": timedelta(days=6), "weekend": timedelta(days=1)}


@dataclass(frozen=True, slots=True)
class FactDates:
    """When a fact holds: from and until which day, and the day on which its age or duration was said."""

    holds_from: date | None = None
    holds_until: date | None = None
    said_on: date | None = None


NO_DATES = FactDates()


@dataclass(frozen=True, slots=True)
class DatedFact:
    """A fact's text with absolute dates, and when it holds."""

    text: str
    dates: FactDates = NO_DATES


def date_fact(text: str, kind: str, today: date | None) -> DatedFact | None:
    """Return a fact with absolute dates, as it was said on the day `today`.

    `today` is None for a message of unknown date: None is returned for a fact whose meaning depends on it.
    """
    if today is None:
        return None if _depends_on_day(text, kind) else DatedFact(text)
    text = resolve_relative_dates(text, today)
    return DatedFact(text, find_fact_dates(text, kind, today))


def find_fact_dates(text: str, kind: str, today: date) -> FactDates:
    """Return when a fact with absolute dates holds that is said on the day `today`.

    A date ahead ends a fact whose kind passes; other facts hold from it. What happens every year never ends.
    The dates of a fact in the user's own words are found before it gets its quotation marks: after them may
    stand the day on which it was written, which is no date of the fact.
    """
    if extract_own_words(text):
        return NO_DATES
    language = find_date_language(text)
    said_on = today if _find_ages(text, kind, language) else None
    if language.yearly.search(text):
        return FactDates(said_on=said_on)
    passes = KINDS[kind].passes
    begins, ends = [], []
    for span in _find_spans(text, language, today, KINDS[kind].is_plan):
        if span.last >= today and (span.bound == "until" or (passes and span.bound != "since")):
            ends.append(span.last)
        elif span.bound == "since" or (span.has_year and span.bound != "until"):
            begins.append(span.first)
    return FactDates(min(begins, default=None), max(ends, default=None), said_on)


@lru_cache(maxsize=512)
def tell_with_date(text: str, said_on: date | None) -> str:
    """Return a fact as prompts state it: "User's son is 3 in November 2026".

    It depends on the fact alone and not on the present day, so a line of a prompt never changes by itself.
    """
    if said_on is None or extract_own_words(text):
        return text
    language = find_date_language(text)
    ages = [*language.ages.finditer(text), *language.bare_ages.finditer(text)]
    if not ages:
        return text
    end = max(match.end() for match in ages)
    # In a language whose form of a month has no space, Chinese, the month stands in Chinese brackets.
    month = language.write("month", said_on)
    if " " not in month:
        month = f"（{month}）"
    elif re.match(r" \w", text[end:]):
        month = f" ({month})"
    else:
        month = f" {month}"
    return f"{text[:end]}{month}{text[end:]}"


def mentions_time(message: str) -> bool:
    """Return whether a message has a date that depends on the day, or asks about time: "How old am I?".

    Of a long message only the beginning and the end are read, which bounds the time.
    """
    if len(message) > 2 * _PART_READ:
        message = f"{message[:_PART_READ]}\n{message[-_PART_READ:]}"
    language = find_date_language(message)
    return bool(language.questions.search(message)) or has_relative_date(message)


def _depends_on_day(text: str, kind: str) -> bool:
    language = find_date_language(text)
    if has_relative_date(text) or _find_ages(text, kind, language):
        return True
    if language.yearly.search(text):
        return False
    spans = _find_spans(text, language, date.min, KINDS[kind].is_plan)
    return any(not span.has_year and (KINDS[kind].passes or span.bound) for span in spans)


def _find_ages(text: str, kind: str, language: DateLanguage) -> bool:
    return bool(language.ages.search(text) or (kind in _KINDS_WITH_AGE and language.bare_ages.search(text)))


@dataclass(frozen=True, slots=True)
class _Span:
    """The days that a date in a text covers; `bound` is "since", "until" or "", by the word before it."""

    first: date
    last: date
    bound: str
    has_year: bool


def _find_spans(text: str, language: DateLanguage, today: date, is_plan: bool) -> Iterator[_Span]:
    """Yield the dates in a text.

    A date without a year is the nearest one, but the next one in a plan and after "until".
    """
    seen: list[tuple[int, int]] = []
    for pattern in (*language.absolute, language.year_alone):
        for match in pattern.finditer(text):
            begin, end = match.span()
            if any(begin < other_end and other_begin < end for other_begin, other_end in seen):
                continue
            seen.append((begin, end))
            form, begin = _find_form(match, language)
            bound = _find_bound(text[:begin], language)
            if pattern is language.year_alone and not bound:
                continue
            if first := _find_first_day(match, language, today, is_plan or bound == "until"):
                last = first + _SPANS[form] if form in _SPANS else _find_last_day(first, form)
                yield _Span(first, last, bound, bool(match.groupdict().get("year")))


def _find_form(match: re.Match[str], language: DateLanguage) -> tuple[str, int]:
    """Return what a date names ("day", "week" …) and where its phrase begins."""
    groups = match.groupdict()
    if not groups.get("day"):
        return ("month" if groups.get("month") or groups.get("number") else "year"), match.start()
    for form in _SPANS:
        before, after = language.forms[form][1].split("{date}")
        # Its article may have been joined with a preposition: "bis zur Woche vom".
        for start in (before, before.partition(" ")[2] or before):
            if match.string[: match.start()].endswith(start) and match.string[match.end() :].startswith(
                after
            ):
                return form, match.start() - len(start)
    return "day", match.start()


def _find_bound(before: str, language: DateLanguage) -> str:
    if language.until.search(before):
        return "until"
    return "since" if language.since.search(before) else ""


def _find_first_day(match: re.Match[str], language: DateLanguage, today: date, is_ahead: bool) -> date | None:
    groups = match.groupdict()
    if number := groups.get("number"):
        month = int(number)
    else:
        month = language.number_month(groups["month"]) if groups.get("month") else 1
    day = int(groups.get("day") or 1)
    if year := groups.get("year"):
        return _make_date(int(year), month, day)
    if not groups.get("day"):
        # A month without a day covers the present month too, because that month is not over.
        today = today.replace(day=1)
    return choose_year(month, day, today, is_ahead=is_ahead)


def choose_year(month: int, day: int, today: date, *, is_ahead: bool) -> date | None:
    """Return the date of a day without a year: the next one if it `is_ahead`, else the nearest.

    None for a day that no year has.
    """
    # Eight years on either side, because 29 February may be eight years away: 1896 and 1904.
    years = range(today.year - 8, today.year + 9)
    found = [made for year in years if (made := _make_date(year, month, day))]
    if is_ahead:
        found = [made for made in found if made >= today]
    return min(found, key=lambda made: abs(made - today), default=None)


def _make_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _find_last_day(first: date, form: str) -> date:
    return first if form == "day" else max(first, move(first, form, 1) - _DAY)
