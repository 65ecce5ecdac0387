"""The energy budgets of background work: pure arithmetic. One unit is one second of model time.

Background calls subtract their duration from the level; the level refills with time; below 20 % of the
capacity background work waits.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from datetime import datetime, timedelta
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

CAPACITY = 180.0
REFILL_PER_SECOND = 180.0 / 3600  # units a second: background work takes 5 % of the time in the long run
# Background work waits while the level is at or below this.
LOW_LEVEL = 0.2 * CAPACITY
# A running call is not interrupted, so the level may fall below zero. The lower limit makes sure that a wrong
# duration, measured by a clock that jumped, is refilled within two hours.
MIN_LEVEL = -CAPACITY
# Added to the predicted time, so that the level is then above the low level and not equal to it.
_MARGIN = timedelta(seconds=1)
_LONGEST_PREDICTION = timedelta(minutes=30)


def refill_level(level: float, measured_at: datetime, now: datetime) -> float:
    """Return the level at `now` (wall clock); a clock that was set back does not change the level."""
    seconds = max(0.0, (now - measured_at).total_seconds())
    return min(CAPACITY, level + seconds * REFILL_PER_SECOND)


def share_refill(levels: Mapping[Key, float], seconds: float) -> dict[Key, float]:
    """Return the levels after `seconds`: all together refill as fast as one alone would.

    The refill is divided equally, and what a full level does not take goes to the others.
    """
    left = max(0.0, seconds) * REFILL_PER_SECOND
    filled: dict[Key, float] = {}
    open_levels = sorted(levels.items(), key=lambda item: -item[1])
    for place, (key, level) in enumerate(open_levels):
        share = left / (len(open_levels) - place)
        filled[key] = min(CAPACITY, level + share)
        left -= max(0.0, filled[key] - level)
    return filled


def subtract_work(level: float, seconds: float) -> float:
    """Return the level after `seconds` of model time, at least MIN_LEVEL."""
    return max(MIN_LEVEL, min(CAPACITY, level) - max(0.0, seconds))


def is_low(level: float) -> bool:
    """Return whether background work has to wait."""
    return level <= LOW_LEVEL


def predict_recovery(level: float, now: datetime, sharers: int = 1) -> datetime:
    """Return when the level will be above LOW_LEVEL if no work runs until then; `now` if it is already.

    `sharers` is among how many the refill is divided. With several it may come sooner, since a full level
    leaves its share to the others; so the time is never more than `_LONGEST_PREDICTION` ahead.
    """
    if not is_low(level):
        return now
    wait = timedelta(seconds=(LOW_LEVEL - level) / REFILL_PER_SECOND * sharers) + _MARGIN
    return now + (wait if sharers == 1 else min(wait, _LONGEST_PREDICTION))


def to_percent(level: float) -> int:
    """Return a level as a whole percentage of the capacity, 0–100."""
    return max(0, min(100, int(100 * level / CAPACITY)))
