"""Helper that runs extraction jobs as the job runner does."""

from __future__ import annotations

from collections.abc import Callable

from chat.jobs import runner


def run_extraction_jobs(clock: Callable[[float], object]) -> None:
    """Move the clock past the two seconds that extraction waits after a message, and run the due jobs."""
    clock(2)
    runner.run_due(["extract"])
