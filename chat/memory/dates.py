"""Replaces relative dates in a fact by absolute ones, because "yesterday" is wrong a day later.

Only English and German; facts in other languages keep their words, because no rules for their prepositions
exist here. Ambiguous dates ("on Friday", "last summer") are not replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial

from .date_words import AMOUNT_WORDS, AMOUNTS, DAYS, ENGLISH, GERMAN, UNITS, DateFormats

_Resolve = Callable[[re.Match[str], date, DateFormats], str]

_COUNT = rf"(?P<count>\d{{1,2}}|{'|'.join(AMOUNT_WORDS)})"
_UNIT = rf"(?P<unit>{'|'.join(UNITS)})"
_DAY = rf"(?P<day>{'|'.join(DAYS)})"
# Verbs before which "in two weeks" is a date: "is due in two weeks". Elsewhere it is a duration: "learned it
# in two weeks".
_GOING = "coming|flying|getting|going|having|leaving|marrying|moving|starting|travell?ing|turning|visiting"
_WILL = (
    rf"(?:am|is|are)(?: due| (?:{_GOING})\b[^.;]*?)?",
    r"due|starts?|begins?|ends?|leaves?|arrives?|moves?|flies|gets? married|marry|marries|turns? \d+",
    r"will [^.;]*?",
    r"(?:has|have) (?:an?|the|to|his|her|their)\b[^.;]*?",
)
_AHEAD = rf"(?P<before>{'|'.join(_WILL)}) in"
# Prepositions before a relative date. The absolute date follows them without a preposition of its own.
_AFTER = {ENGLISH: "by|until|till|since|before|after|from|for|of|on", GERMAN: "seit|bis"}
# German prepositions that need another case than the templates give: such dates stay unchanged.
_NEVER_AFTER = r"(?<!\bab )(?<!\bvon )(?<!\bfür )(?<!\bvor )(?<!\bnach )(?<!\bzu )"


def resolve_relative_dates(text: str, today: date) -> str:
    """Return a fact with absolute dates; `today` is the user's local date when the message was written."""
    for formats, table in ((ENGLISH, _ENGLISH), (GERMAN, _GERMAN)):
        for pattern, resolve in table:
            text = pattern.sub(partial(_replace_match, resolve, today, formats), text)
    return text


def _replace_match(resolve: _Resolve, today: date, formats: DateFormats, match: re.Match[str]) -> str:
    """Return the absolute date for a match, with the preposition and the capital letter of the match."""
    is_capital = match[0][0].isupper()
    if is_capital and match.start():
        return match[0]  # A capital inside a sentence is a name: "USA Today".
    phrase = resolve(match, today, formats)
    if not (preposition := match["after"]):
        return phrase[0].upper() + phrase[1:] if is_capital else phrase
    first, _, rest = phrase.partition(" ")
    if first in ("am", "im", "on", "in"):
        if preposition == "bis" and rest.startswith("der "):
            return f"bis zur {rest.removeprefix('der ')}"
        return f"{preposition} {rest}"
    return f"{preposition} {phrase}"


def _day(offset: int) -> _Resolve:
    return lambda _match, today, formats: formats.format_day(today + timedelta(days=offset))


def _week(offset: int) -> _Resolve:
    return lambda _match, today, formats: formats.format_week(_get_monday(today) + timedelta(weeks=offset))


def _month(offset: int) -> _Resolve:
    return lambda _match, today, formats: formats.format_month(*_add_months(today, offset))


def _year(offset: int) -> _Resolve:
    return lambda _match, today, formats: formats.format_year(today.year + offset)


def _weekend(offset: int) -> _Resolve:
    return lambda _match, today, formats: formats.format_weekend(
        _get_monday(today) + timedelta(days=5, weeks=offset)
    )


def _weekday(direction: int) -> _Resolve:
    """Resolve a weekday name to the first such day before today (-1) or after today (1)."""

    def resolve(match: re.Match[str], today: date, formats: DateFormats) -> str:
        distance = direction * (DAYS[match["day"].casefold()] - today.weekday()) % 7 or 7
        return formats.format_day(today + timedelta(days=direction * distance))

    return resolve


def _away(direction: int) -> _Resolve:
    """Resolve "two weeks ago" (-1) or "is due in two weeks" (1), as precisely as the unit that was named."""

    def resolve(match: re.Match[str], today: date, formats: DateFormats) -> str:
        amount, unit = match["count"].casefold(), UNITS[match["unit"].casefold()]
        count = direction * (int(amount) if amount.isdecimal() else AMOUNTS[amount])
        before = match.groupdict().get("before")
        return f"{before} " * (before is not None) + _format_offset(count, unit, today, formats)

    return resolve


def _format_offset(count: int, unit: str, today: date, formats: DateFormats) -> str:
    if unit == "day":
        return formats.format_day(today + timedelta(days=count))
    if unit == "week":
        return formats.format_week(_get_monday(today) + timedelta(weeks=count))
    if unit == "month":
        return formats.format_month(*_add_months(today, count))
    return formats.format_year(today.year + count)


def _get_monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _add_months(day: date, months: int) -> tuple[int, int]:
    """Return the year and the month (0–11) that is `months` months after `day`."""
    return divmod(day.year * 12 + day.month - 1 + months, 12)


def _compile_table(
    formats: DateFormats, *rows: tuple[str, _Resolve]
) -> tuple[tuple[re.Pattern[str], _Resolve], ...]:
    after = rf"{'' if formats is ENGLISH else _NEVER_AFTER}\b(?:(?P<after>{_AFTER[formats]}) )?"
    return tuple((re.compile(rf"{after}\b(?:{words})\b", re.I), resolve) for words, resolve in rows)


_ENGLISH = _compile_table(
    ENGLISH,
    ("the day before yesterday", _day(-2)),
    ("the day after tomorrow", _day(2)),
    ("(?<!than )yesterday(?: morning| afternoon| evening)?", _day(-1)),
    ("last night", _day(-1)),
    ("(?:today|tonight|this (?:morning|afternoon|evening))", _day(0)),
    ("tomorrow(?: morning| afternoon| evening| night)?", _day(1)),
    ("last weekend", _weekend(-1)),
    ("this weekend", _weekend(0)),
    ("next weekend", _weekend(1)),
    ("last week", _week(-1)),
    ("this week", _week(0)),
    ("next week", _week(1)),
    ("last month", _month(-1)),
    ("this month", _month(0)),
    ("next month", _month(1)),
    ("last year", _year(-1)),
    ("this year", _year(0)),
    ("next year", _year(1)),
    (f"last {_DAY}", _weekday(-1)),
    (f"(?:this coming|this|next) {_DAY}", _weekday(1)),
    (rf"{_COUNT} {_UNIT} ago", _away(-1)),
    (rf"{_AHEAD} {_COUNT} {_UNIT}(?:'s time|' time|s' time)?", _away(1)),
)

_GERMAN = _compile_table(
    GERMAN,
    ("vorgestern", _day(-2)),
    ("übermorgen", _day(2)),
    ("gestern(?: früh| morgen| abend)?", _day(-1)),
    ("heute(?: früh| morgen| abend)?", _day(0)),
    ("(?-i:morgen)(?: früh| abend)?", _day(1)),
    ("letzte[ns]? Wochenende", _weekend(-1)),
    ("(?:an )?(?:diese[sm]|kommende[ns]) Wochenende", _weekend(0)),
    ("(?:in der )?(?:letzte|vergangene|vorige)[rn]? Woche", _week(-1)),
    ("(?:in )?dieser? Woche", _week(0)),
    ("(?:in der )?(?:nächsten?|kommenden?) Woche", _week(1)),
    ("(?:im )?(?:letzte|vergangene|vorige)[nm] Monat", _month(-1)),
    ("(?:in )?diese[nm] Monat", _month(0)),
    ("(?:im )?(?:nächste|kommende)[nm] Monat", _month(1)),
    ("(?:im )?(?:letzte|vergangene|vorige)[snm] Jahr", _year(-1)),
    ("(?:in )?diese[sm] Jahr", _year(0)),
    ("(?:im )?(?:nächste|kommende)[snm] Jahr", _year(1)),
    (f"(?:letzten|vergangenen) {_DAY}", _weekday(-1)),
    (f"(?:nächsten|kommenden) {_DAY}", _weekday(1)),
    (rf"vor {_COUNT} {_UNIT}", _away(-1)),
)
