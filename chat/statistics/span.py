"""A period of time in equal parts, hours or days of the owner's calendar. Pure functions.

Hours are counted in UTC, since local time repeats an hour when summer time ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

SpanName = Literal["day", "month"]
HOURS, DAYS = 24, 30


@dataclass(frozen=True, slots=True)
class Span:
    """The last 24 hours by the hour, or the last 30 days by the day. The last part contains `now`."""

    name: SpanName
    now: datetime
    zone: tzinfo

    @property
    def hourly(self) -> bool:
        """Whether the parts are hours."""
        return self.name == "day"

    @property
    def starts(self) -> list[datetime]:
        """The starts of the parts in the owner's time zone, oldest first."""
        if self.hourly:
            hour = self.now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
            moments = [hour - timedelta(hours=back) for back in reversed(range(HOURS))]
            return [moment.astimezone(self.zone) for moment in moments]
        today = self.now.astimezone(self.zone).date()
        days = [today - timedelta(days=back) for back in reversed(range(DAYS))]
        return [datetime(day.year, day.month, day.day, tzinfo=self.zone) for day in days]

    @property
    def begin(self) -> datetime:
        """The start of the first part."""
        return self.starts[0]

    @property
    def hours(self) -> float:
        """The hours since `begin`, at least a minute, so that a rate can be computed."""
        # Python subtracts two times of one zone by their local clock, which is wrong by an hour across a
        # clock change; so convert to UTC.
        passed = self.now.astimezone(UTC) - self.begin.astimezone(UTC)
        return max(passed.total_seconds() / 3600, 1 / 60)

    @property
    def parts(self) -> range:
        """The indices of the parts; 0 is the oldest."""
        return range(HOURS if self.hourly else DAYS)
