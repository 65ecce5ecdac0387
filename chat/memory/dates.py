"""Relative dates in a fact become dates, since "yesterday" is wrong by tomorrow (design §5).

English and German: in other languages a fact keeps its words, since a date put into a grammar that is not
known here would read as broken. What leaves open which day is meant ("on Friday", "last summer") stays too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial

from .date_words import AMOUNTS, COUNTS, DAYS, ENGLISH, GERMAN, UNITS, Months

_Resolve = Callable[[re.Match[str], date, Months], str]

_COUNT = rf"(?P<count>\d{{1,2}}|{'|'.join(COUNTS)})"
_UNIT = rf"(?P<unit>{'|'.join(UNITS)})"
_DAY = rf"(?P<day>{'|'.join(DAYS)})"
# "Learned it in two weeks" says how long, "is due in two weeks" when.
_GOING = "coming|flying|getting|going|having|leaving|marrying|moving|starting|travell?ing|turning|visiting"
_WILL = (
    rf"(?:am|is|are)(?: due| (?:{_GOING})\b[^.;]*?)?",
    r"due|starts?|begins?|ends?|leaves?|arrives?|moves?|flies|gets? married|marry|marries|turns? \d+",
    r"will [^.;]*?",
    r"(?:has|have) (?:an?|the|to|his|her|their)\b[^.;]*?",
)
_AHEAD = rf"(?P<before>{'|'.join(_WILL)}) in"
# Before a date these need no other preposition; what German builds with the others takes another case.
_AFTER = {ENGLISH: "by|until|till|since|before|after|from|for|of|on", GERMAN: "seit|bis"}
_NEVER_AFTER = r"(?<!\bab )(?<!\bvon )(?<!\bfür )(?<!\bvor )(?<!\bnach )(?<!\bzu )"


def resolve(text: str, today: date) -> str:
    """Return a fact with its relative dates as dates; `today` is the user's local date when it was said."""
    for months, table in ((ENGLISH, _ENGLISH), (GERMAN, _GERMAN)):
        for pattern, resolved in table:
            text = pattern.sub(partial(_phrase, resolved, today, months), text)
    return text


def _phrase(resolved: _Resolve, today: date, months: Months, match: re.Match[str]) -> str:
    capital = match[0][0].isupper()
    if capital and match.start():
        return match[0]  # A name: "USA Today".
    said = resolved(match, today, months)
    if not (after := match["after"]):
        return said[0].upper() + said[1:] if capital else said
    first, _, rest = said.partition(" ")
    if first in ("am", "im", "on", "in"):
        return (
            f"{after} zur {rest.removeprefix('der ')}"
            if after == "bis" and rest.startswith("der ")
            else f"{after} {rest}"
        )
    return f"{after} {said}"


def _day(offset: int) -> _Resolve:
    return lambda _match, today, months: months.on(today + timedelta(days=offset))


def _week(offset: int) -> _Resolve:
    return lambda _match, today, months: months.week(_monday(today) + timedelta(weeks=offset))


def _month(offset: int) -> _Resolve:
    return lambda _match, today, months: months.month(*_moved(today, offset))


def _year(offset: int) -> _Resolve:
    return lambda _match, today, months: months.year(today.year + offset)


def _weekend(offset: int) -> _Resolve:
    return lambda _match, today, months: months.weekend(_monday(today) + timedelta(days=5, weeks=offset))


def _weekday(nearest: int) -> _Resolve:
    """Return the first such day before today (-1) or after it (1)."""

    def resolved(match: re.Match[str], today: date, months: Months) -> str:
        away = nearest * (DAYS[match["day"].casefold()] - today.weekday()) % 7 or 7
        return months.on(today + timedelta(days=nearest * away))

    return resolved


def _away(direction: int) -> _Resolve:
    """Return what lies some days, weeks, months or years back (-1) or ahead (1), as exactly as was said."""

    def resolved(match: re.Match[str], today: date, months: Months) -> str:
        said, unit = match["count"].casefold(), UNITS[match["unit"].casefold()]
        count = direction * (int(said) if said.isdecimal() else AMOUNTS[said])
        before = match.groupdict().get("before")
        return f"{before} " * (before is not None) + _that_far(count, unit, today, months)

    return resolved


def _that_far(count: int, unit: str, today: date, months: Months) -> str:
    if unit == "day":
        return months.on(today + timedelta(days=count))
    if unit == "week":
        return months.week(_monday(today) + timedelta(weeks=count))
    return months.month(*_moved(today, count)) if unit == "month" else months.year(today.year + count)


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _moved(day: date, months: int) -> tuple[int, int]:
    """Return the year and the month, from 0 on, that many months away."""
    return divmod(day.year * 12 + day.month - 1 + months, 12)


def _table(months: Months, *rows: tuple[str, _Resolve]) -> tuple[tuple[re.Pattern[str], _Resolve], ...]:
    after = rf"{'' if months is ENGLISH else _NEVER_AFTER}\b(?:(?P<after>{_AFTER[months]}) )?"
    return tuple((re.compile(rf"{after}\b(?:{words})\b", re.I), resolved) for words, resolved in rows)


_ENGLISH = _table(
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

_GERMAN = _table(
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
