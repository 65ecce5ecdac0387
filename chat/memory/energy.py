"""The energy budget of background work: pure arithmetic. One unit is one second of model time.

Background calls subtract their duration from the level; the level refills with time; below 20 % of the
capacity background work waits.
"""

from __future__ import annotations

from datetime import datetime, timedelta

CAPACITY = 180.0
REFILL_PER_SECOND = 180.0 / 3600  # units a second: background work takes 5 % of the time in the long run
# Background work waits while the level is at or below this.
LOW_LEVEL = 0.2 * CAPACITY
# A running call is not interrupted, so the level may fall below zero. The lower limit makes sure that a wrong
# duration, measured by a clock that jumped, is refilled within two hours.
MIN_LEVEL = -CAPACITY
# Added to the predicted time, so that the level is then above the low level and not equal to it.
_MARGIN = timedelta(seconds=1)


def refill_level(level: float, measured_at: datetime, now: datetime) -> float:
    """Return the level at `now` (wall clock); a clock that was set back does not change the level."""
    seconds = max(0.0, (now - measured_at).total_seconds())
    return min(CAPACITY, level + seconds * REFILL_PER_SECOND)


def subtract_work(level: float, seconds: float) -> float:
    """Return the level after `seconds` of model time, at least MIN_LEVEL."""
    return max(MIN_LEVEL, min(CAPACITY, level) - max(0.0, seconds))


def is_low(level: float) -> bool:
    """Return whether background work has to wait."""
    return level <= LOW_LEVEL


def predict_recovery(level: float, now: datetime) -> datetime:
    """Return when the level will be above LOW_LEVEL if no work runs until then; `now` if it is already."""
    if not is_low(level):
        return now
    return now + timedelta(seconds=(LOW_LEVEL - level) / REFILL_PER_SECOND) + _MARGIN


def to_percent(level: float) -> int:
    """Return a level as a whole percentage of the capacity, 0–100."""
    return max(0, min(100, int(100 * level / CAPACITY)))
