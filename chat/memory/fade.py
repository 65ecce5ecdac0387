"""How sure memory still is of what nobody uses: pure arithmetic (design §5, "Fading").

Seed 000 multiplies by 0.95 a day after 30 unused days and seed 004 expires a category after 60, 180 or 365;
together the first empties memory by day 90 and the second never fires. Here one factor serves both.
"""

from __future__ import annotations

from chat.memory.confidence import baseline

UNUSED_DAYS = 30  # seed 000, "Memory Decay Logic"
FLOOR = 0.1  # seed 000: below it a memory is archived
LIMITS = {"project": 60, "preference": 180, "identity": 365}  # seed 004, "Category expiry"
# What a year of multiplications may lose to rounding: on the day of its limit a fact is still there.
_ROUNDING = 1e-9


def daily_factor(category: str, origin: str) -> float:
    """Return what a day beyond `UNUSED_DAYS` multiplies by: a baseline ends at `FLOOR` on its limit's day."""
    return float((FLOOR / baseline(origin)) ** (1 / (LIMITS[category] - UNUSED_DAYS)))


def faded(confidence: float, category: str, origin: str, idle_before: int, idle_days: int) -> float:
    """Return the confidence after the idle days have grown from `idle_before` to `idle_days`."""
    days = max(0, idle_days - max(UNUSED_DAYS, idle_before))
    return confidence * daily_factor(category, origin) ** days


def has_faded_away(confidence: float) -> bool:
    """Tell whether so little is left that the fact goes to the archive."""
    return confidence < FLOOR - _ROUNDING
