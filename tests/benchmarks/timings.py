"""A table of timings and their bars, printed by the benchmarks without a server."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `bar` is the upper limit of the 95th percentile in ms, or None.

    `of_median`: it is the limit of the median instead. For what takes about a millisecond: another process
    that gets the processor keeps it for 4 ms.
    """

    what: str
    milliseconds: Sequence[float]
    bar: float | None
    of_median: bool = False

    @property
    def p50(self) -> float:
        """Return the median in milliseconds."""
        return statistics.median(self.milliseconds)

    @property
    def p95(self) -> float:
        """Return the 95th percentile in milliseconds."""
        return sorted(self.milliseconds)[int(len(self.milliseconds) * 0.95)]

    @property
    def ok(self) -> bool:
        """Return whether the 95th percentile, or the median, is below the bar."""
        return self.bar is None or (self.p50 if self.of_median else self.p95) < self.bar


def print_table(rows: Sequence[Row]) -> int:
    """Print the table and return the exit code: 1 when a bar was missed."""
    print("load average:", *(f"{load:.1f}" for load in os.getloadavg()))
    width = max(len(r.what) for r in rows)
    print(f"\n{'measure':<{width}}  {'p50 ms':>8}  {'p95 ms':>8}  bar")
    for row in rows:
        figures = f"{row.p50:8.2f}  {row.p95:8.2f}"
        limited = "p50 " if row.of_median else ""
        verdict = "" if row.bar is None else f"{limited}< {row.bar:g} ms   {'ok' if row.ok else 'MISSED'}"
        print(f"{row.what:<{width}}  {figures}  {verdict}")
    return 0 if all(r.ok for r in rows) else 1
