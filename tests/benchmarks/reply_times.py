"""When the texts of many replies arrive: the first one of each, and the gaps between them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Times:
    """Seconds to each first text, between two texts, and how many replies went wrong."""

    firsts: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def note(self, sent: float, arrivals: Sequence[float]) -> None:
        """Add the texts of one reply."""
        if not arrivals:
            self.errors.append("no text")
            return
        self.firsts.append(arrivals[0] - sent)
        self.gaps.extend(after - before for before, after in itertools.pairwise(arrivals))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed; 0 without any."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def print_times(what: str, times: Times) -> None:
    """Print one line of the table."""
    first = "  ".join(f"{percentile(times.firsts, share):5.2f}" for share in (0.5, 0.95, 0.99))
    print(f"{what:<24}{first}   {percentile(times.gaps, 0.99):5.2f}   {len(times.errors)}")
