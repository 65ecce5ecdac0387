"""How much of the model's time background work may take: pure arithmetic (seed 003, "Energy"; design §5).

A unit is one second of model time in the background lane.
"""

from __future__ import annotations

from datetime import datetime, timedelta

CAPACITY = 180.0
REFILL = 180.0 / 3600  # units a second: background work takes 5 % of the time in the long run
# At this level and below background work waits (seed 003: "Only runs when energy > 20%").
LOW = 0.2 * CAPACITY
# A call that was begun is not broken off, so the level may fall below zero; but an hour makes up for
# whatever a clock that jumped has measured.
DEBT = -CAPACITY
# Above the low level and not upon it.
_ABOVE = timedelta(seconds=1)


def refilled(level: float, measured_at: datetime, now: datetime) -> float:
    """Return the level now; a clock that went backwards refills nothing and takes nothing."""
    seconds = max(0.0, (now - measured_at).total_seconds())
    return min(CAPACITY, level + seconds * REFILL)


def spent(level: float, seconds: float) -> float:
    """Return what is left of a level after so many seconds of work."""
    return max(DEBT, min(CAPACITY, level) - max(0.0, seconds))


def is_low(level: float) -> bool:
    """Tell whether background work has to wait."""
    return level <= LOW


def enough_at(level: float, now: datetime) -> datetime:
    """Return when a level will be above the low one, if nothing is spent until then; `now` where it is."""
    if not is_low(level):
        return now
    return now + timedelta(seconds=(LOW - level) / REFILL) + _ABOVE


def percent(level: float) -> int:
    """Return a level in whole percent of the capacity, 0–100."""
    return max(0, min(100, int(100 * level / CAPACITY)))
