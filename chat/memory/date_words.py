"""English and German words for weekdays, numbers and units of time, and how both languages write dates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

# Weekday names with the numbers of `date.weekday`: Monday is 0.
DAYS = {
    name: i % 7
    for i, name in enumerate(
        [
            "monday",
            "tuesday",
            "wednesday",
            "thursday",
            "friday",
            "saturday",
            "sunday",
            "montag",
            "dienstag",
            "mittwoch",
            "donnerstag",
            "freitag",
            "samstag",
            "sonntag",
        ]
    )
}
UNITS = {
    word: unit
    for unit, words in {
        "day": "days day tagen tag",
        "week": "weeks week wochen woche",
        "month": "months month monaten monat",
        "year": "years year jahren jahr",
    }.items()
    for word in words.split()
}
AMOUNTS = {
    word: count
    for count, words in enumerate(
        (
            "a an one ein einem einer",
            "two zwei",
            "three drei",
            "four vier",
            "five fünf",
            "six sechs",
            "seven sieben",
            "eight acht",
            "nine neun",
            "ten zehn",
            "eleven elf",
            "twelve zwölf",
        ),
        1,
    )
    for word in words.split()
}
# Longest first, so that a regular expression tries "einem" before "ein".
AMOUNT_WORDS = sorted(AMOUNTS, key=len, reverse=True)


@dataclass(frozen=True, slots=True, eq=False)
class DateFormats:
    """How a language writes dates; each template gives a phrase that can follow a verb."""

    names: Sequence[str]
    day_form: str
    week_form: str
    weekend_form: str
    month_form: str
    year_form: str

    def format_day(self, day: date) -> str:
        """Return "on 3 May 2026"."""
        return self.day_form.format(self._format_date(day))

    def format_week(self, monday: date) -> str:
        """Return "in the week of 4 May 2026"."""
        return self.week_form.format(self._format_date(monday))

    def format_weekend(self, saturday: date) -> str:
        """Return "on the weekend of 9 May 2026"."""
        return self.weekend_form.format(self._format_date(saturday))

    def format_month(self, year: int, month: int) -> str:
        """Return "in May 2026"; months count from 0."""
        return self.month_form.format(self.names[month], year)

    def format_year(self, year: int) -> str:
        """Return "in 2026"."""
        return self.year_form.format(year)

    def _format_date(self, day: date) -> str:
        dot = "." if self is GERMAN else ""
        return f"{day.day}{dot} {self.names[day.month - 1]} {day.year}"


ENGLISH = DateFormats(
    [
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
    ],
    "on {}",
    "in the week of {}",
    "on the weekend of {}",
    "in {} {}",
    "in {}",
)
GERMAN = DateFormats(
    [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ],
    "am {}",
    "in der Woche vom {}",
    "am Wochenende des {}",
    "im {} {}",
    "{}",
)
