"""The confidence of a fact, 0–1: its initial value, its rise with each mention, its decay while unused.

Pure arithmetic: `actions.facts.reinforce_fact` applies the rise, and `actions.archive` keeps the higher value
when a fact is restored or merged with its duplicate. The daily decay factor is chosen so that a fact that is
never mentioned again falls to CONFIDENCE_FLOOR exactly on the day its category expires.
"""

from __future__ import annotations

INITIAL_EXTRACTED = 0.75  # for origins "extracted" and "told"
INITIAL_MANUAL = 0.6  # a fact that was typed or highlighted starts lower, and rises faster
BOOST = 0.15  # added for each further mention
BOOST_MANUAL = 0.25
MAX_CONFIDENCE = 1.0

UNUSED_DAYS = 30  # confidence decays only from this many days without use on
CONFIDENCE_FLOOR = 0.1  # below this the fact is archived
EXPIRY_DAYS = {"project": 60, "preference": 180, "identity": 365}
# The error that a year of multiplications may add; a fact is still live on the day of its expiry.
_ROUNDING_ERROR = 1e-9

_MANUAL_ORIGINS = frozenset({"manual", "highlight"})


def get_initial_confidence(origin: str) -> float:
    """Return the confidence of a new or superseding fact of this origin, 0–1."""
    return INITIAL_MANUAL if origin in _MANUAL_ORIGINS else INITIAL_EXTRACTED


def raise_confidence(confidence: float, origin: str) -> float:
    """Return the confidence after one more mention of a fact of this origin, at most 1.0."""
    boost = BOOST_MANUAL if origin in _MANUAL_ORIGINS else BOOST
    return round(min(MAX_CONFIDENCE, confidence + boost), 6)


def compute_daily_decay_factor(category: str, origin: str) -> float:
    """Return the factor for each day beyond UNUSED_DAYS; it takes the initial value to CONFIDENCE_FLOOR."""
    return float(
        (CONFIDENCE_FLOOR / get_initial_confidence(origin)) ** (1 / (EXPIRY_DAYS[category] - UNUSED_DAYS))
    )


def decay_confidence(
    confidence: float, category: str, origin: str, idle_before: int, idle_days: int
) -> float:
    """Return the confidence after the days without use have grown from `idle_before` to `idle_days`."""
    days = max(0, idle_days - max(UNUSED_DAYS, idle_before))
    return confidence * compute_daily_decay_factor(category, origin) ** days


def is_below_floor(confidence: float) -> bool:
    """Return whether the confidence is so low that the fact is archived."""
    return confidence < CONFIDENCE_FLOOR - _ROUNDING_ERROR
