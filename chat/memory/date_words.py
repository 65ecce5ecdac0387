"""The words of English and German for days, numbers and spans, and how each writes a date in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

# Days as `date.weekday` counts them.
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
# The longest first: "einem" begins with "ein".
COUNTS = sorted(AMOUNTS, key=len, reverse=True)


@dataclass(frozen=True, slots=True, eq=False)
class Months:
    """How a language writes dates; each template is a phrase that can follow a verb."""

    names: Sequence[str]
    day_form: str
    week_form: str
    weekend_form: str
    month_form: str
    year_form: str

    def on(self, day: date) -> str:
        """Return "on 3 May 2026"."""
        return self.day_form.format(self._written(day))

    def week(self, monday: date) -> str:
        """Return "in the week of 4 May 2026"."""
        return self.week_form.format(self._written(monday))

    def weekend(self, saturday: date) -> str:
        """Return "on the weekend of 9 May 2026"."""
        return self.weekend_form.format(self._written(saturday))

    def month(self, year: int, month: int) -> str:
        """Return "in May 2026"; months count from 0 on."""
        return self.month_form.format(self.names[month], year)

    def year(self, year: int) -> str:
        """Return "in 2026"."""
        return self.year_form.format(year)

    def _written(self, day: date) -> str:
        dot = "." if self is GERMAN else ""
        return f"{day.day}{dot} {self.names[day.month - 1]} {day.year}"


ENGLISH = Months(
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
GERMAN = Months(
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
