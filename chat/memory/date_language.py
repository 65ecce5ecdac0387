"""How each language writes dates, ages and durations, as patterns and forms from the files in `languages`.

The files hold forms and relative words; the names of months and weekdays come from Django's translations.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from django.utils import dates, translation

from .language import detect_language

_FOLDER = Path(__file__).parent / "languages"
_CODES = frozenset(path.stem for path in _FOLDER.glob("*.toml"))
_ENGLISH = "en"
UNITS = ("day", "week", "month", "year")
# A calendar date in figures, in any language.
_ISO_DATE = r"(?P<year>\d{4})-(?P<number>\d\d)-(?P<day>\d\d)"


@dataclass(frozen=True, slots=True)
class RelativePattern:
    """A relative date: what it is counted in ("day", "weekday", "away" …), how far away, and its words."""

    unit: str
    offset: int
    words: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class DateLanguage:
    """The forms and compiled patterns of a language. Weekdays, counts and units are matched in lower case."""

    months: tuple[str, ...]
    forms: Mapping[str, Any]
    contractions: Mapping[str, str]
    relative: tuple[RelativePattern, ...]
    # Absolute dates: days first, then months, then years. A year alone counts after "since" and "until" only.
    absolute: tuple[re.Pattern[str], ...]
    year_alone: re.Pattern[str]
    since: re.Pattern[str]
    until: re.Pattern[str]
    yearly: re.Pattern[str]
    ages: re.Pattern[str]
    bare_ages: re.Pattern[str]
    questions: re.Pattern[str]
    _weekdays: tuple[re.Pattern[str], ...]
    _counts: tuple[re.Pattern[str], ...]
    _units: tuple[re.Pattern[str], ...]

    def write(self, form: str, day: date, *, bare: bool = False) -> str:
        """Return the phrase for a day, or for the week, weekend, month or year that begins with it.

        `form` is "day", "week", "weekend", "month" or "year"; `bare` phrases follow a preposition.
        """
        parts = {"day": day.day, "month": self.months[day.month - 1], "number": day.month, "year": day.year}
        template: str = self.forms[form][bare]
        return template.format(**parts, date=self.forms["date"].format(**parts))

    def number_month(self, name: str) -> int:
        """Return the number (1–12) of a month's name."""
        return [month.casefold() for month in self.months].index(name.casefold()) + 1

    def number_weekday(self, name: str) -> int:
        """Return the number of a weekday's name: 0 for Monday."""
        return _find_index(self._weekdays, name)

    def parse_count(self, words: str) -> int:
        """Return the number that a count such as "3" or "three" means."""
        return int(words) if words.isdecimal() else _find_index(self._counts, words) + 1

    def parse_unit(self, words: str) -> str:
        """Return "day", "week", "month" or "year"."""
        return UNITS[_find_index(self._units, words)]


def find_date_language(text: str) -> DateLanguage:
    """Return the language of a text, English where that is unknown or has no file."""
    code = detect_language(text)
    return load_date_language(code if code in _CODES else _ENGLISH)


@cache
def load_date_language(code: str) -> DateLanguage:
    """Return a language by its code. Its file is read once."""
    table = tomllib.loads((_FOLDER / f"{code}.toml").read_text(encoding="utf-8"))["dates"]
    with translation.override(table["locale"]):
        months = tuple(str(name) for name in dates.MONTHS.values())
        weekdays = table.get("weekdays") or [str(name) for name in dates.WEEKDAYS.values()]
    if table.get("small_months"):
        months = tuple(month.lower() for month in months)
    stands_for = {
        "{weekday}": f"(?P<weekday>{'|'.join(weekdays)})",
        "{count}": rf"(?P<count>\d{{1,3}}|{_join_longest_first(table['counts'])})",
        "{unit}": f"(?P<unit>{_join_longest_first(table['units'])})",
        "{month}": f"(?P<month>{'|'.join(months)})",
        "{number}": r"(?P<number>1[0-2]|0?[1-9])",
        "{day}": r"(?P<day>3[01]|[12]\d|0?[1-9])",
        "{year}": r"(?P<year>(?:19|20)\d\d)",
    }
    return _compile(table, months, weekdays, stands_for, is_spaced=code != "zh")


def _compile(
    table: dict[str, Any],
    months: tuple[str, ...],
    weekdays: list[str],
    stands_for: dict[str, str],
    *,
    is_spaced: bool,
) -> DateLanguage:
    # Chinese has no spaces, so its words have no boundaries.
    start, end = (r"(?<!\w)", r"(?!\w)") if is_spaced else ("", "")

    def compile_any(patterns: list[str], before: str = start, after: str = end) -> re.Pattern[str]:
        """Compile alternatives without groups; no alternatives match nothing."""
        filled = "|".join(_remove_groups(_fill_in(pattern, stands_for)) for pattern in patterns) or r"(?!)"
        return re.compile(f"{before}(?:{filled}){after}", re.I)

    prepositions = "|".join(table["prepositions"]) or r"(?!)"
    unchanged = "".join(rf"(?<!\b{word} )" for word in table.get("unchanged_after", ()))
    before = rf"{unchanged}{start}(?:(?P<after>{prepositions}) )?"
    forms = [*table["day_forms"], _ISO_DATE, *table["month_forms"], *table["year_forms"]]
    return DateLanguage(
        months=months,
        forms={name: table[name] for name in ("date", "day", "week", "weekend", "month", "year")},
        contractions=table.get("contractions", {}),
        relative=tuple(
            RelativePattern(
                *_parse_key(key),
                re.compile(
                    rf"{before}{start}(?:{_fill_in(words, stands_for)}){end}",
                    re.I,
                ),
            )
            for key, patterns in table["relative"].items()
            for words in patterns
        ),
        absolute=tuple(re.compile(f"{start}(?:{_fill_in(form, stands_for)}){end}", re.I) for form in forms),
        year_alone=re.compile(f"{start}{stands_for['{year}']}{end}"),
        since=compile_any(table["since"], after=r"\s*$"),
        until=compile_any(table["until"], after=r"\s*$"),
        yearly=compile_any(table["yearly"]),
        ages=compile_any([*table["ages"], *table["durations"]]),
        bare_ages=compile_any(table["bare_ages"]),
        questions=compile_any(table["questions"]),
        _weekdays=tuple(re.compile(name, re.I) for name in weekdays),
        _counts=tuple(re.compile(name, re.I) for name in table["counts"]),
        _units=tuple(re.compile(name, re.I) for name in table["units"]),
    )


def _parse_key(key: str) -> tuple[str, int]:
    """Return the unit and the offset of a key such as "week -1"."""
    unit, _, offset = key.rpartition(" ")
    return unit, int(offset)


def _fill_in(pattern: str, stands_for: Mapping[str, str]) -> str:
    for name, alternatives in stands_for.items():
        pattern = pattern.replace(name, alternatives)
    return pattern


def _remove_groups(pattern: str) -> str:
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


def _join_longest_first(words: Iterable[str]) -> str:
    # Longer words first, so that "einem" is tried before "ein", and 十一 before 十.
    return "|".join(sorted(words, key=len, reverse=True))


def _find_index(patterns: Iterable[re.Pattern[str]], text: str) -> int:
    return next(index for index, pattern in enumerate(patterns) if pattern.fullmatch(text))
