"""A stretch of time in equal parts: pure arithmetic.

A part is an hour of the clock or a day of the owner's. Hours are those of UTC, since the clock on the wall
shows one of them twice in the night when summer ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

SpanName = Literal["day", "month"]
HOURS, DAYS = 24, 30


@dataclass(frozen=True, slots=True)
class Span:
    """The last 24 hours by the hour, or the last 30 days by the day; the part of `now` is the last one."""

    name: SpanName
    now: datetime
    zone: tzinfo

    @property
    def hourly(self) -> bool:
        """Whether its parts are hours."""
        return self.name == "day"

    @property
    def starts(self) -> list[datetime]:
        """The moments at which its parts begin, in the owner's zone, oldest first."""
        if self.hourly:
            hour = self.now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
            moments = [hour - timedelta(hours=back) for back in reversed(range(HOURS))]
            return [moment.astimezone(self.zone) for moment in moments]
        today = self.now.astimezone(self.zone).date()
        days = [today - timedelta(days=back) for back in reversed(range(DAYS))]
        return [datetime(day.year, day.month, day.day, tzinfo=self.zone) for day in days]

    @property
    def begin(self) -> datetime:
        """The moment from which on is counted."""
        return self.starts[0]

    @property
    def hours(self) -> float:
        """How many hours have passed since its begin; never 0, so that a rate can be told."""
        # Two times of one zone are subtracted by the clock on the wall, which skips an hour in spring.
        passed = self.now.astimezone(UTC) - self.begin.astimezone(UTC)
        return max(passed.total_seconds() / 3600, 1 / 60)

    @property
    def parts(self) -> range:
        """The numbers of its parts, the oldest is 0."""
        return range(HOURS if self.hourly else DAYS)
