"""Shares, rates and percentiles: pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percent(part: float, whole: float) -> int | None:
    """Return a share in whole percent, None of nothing."""
    return round(100 * part / whole) if whole else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least this share of the values does not exceed (nearest rank)."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
