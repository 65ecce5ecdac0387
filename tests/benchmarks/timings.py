"""A table of timings with their bars: what the benchmarks without a server print."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `bar` is the most that the 95th percentile may be, in ms, None without one."""

    what: str
    milliseconds: Sequence[float]
    bar: float | None

    @property
    def p95(self) -> float:
        """Return the 95th percentile."""
        return sorted(self.milliseconds)[int(len(self.milliseconds) * 0.95)]

    @property
    def ok(self) -> bool:
        """Return whether the bar was held."""
        return self.bar is None or self.p95 < self.bar


def printed(rows: Sequence[Row]) -> int:
    """Print the table and return the exit code: 1 when a bar was missed."""
    print("load average:", *(f"{load:.1f}" for load in os.getloadavg()))
    width = max(len(r.what) for r in rows)
    print(f"\n{'measure':<{width}}  {'p50 ms':>8}  {'p95 ms':>8}  bar")
    for row in rows:
        figures = f"{statistics.median(row.milliseconds):8.2f}  {row.p95:8.2f}"
        verdict = "" if row.bar is None else f"< {row.bar:g} ms   {'ok' if row.ok else 'MISSED'}"
        print(f"{row.what:<{width}}  {figures}  {verdict}")
    return 0 if all(r.ok for r in rows) else 1
