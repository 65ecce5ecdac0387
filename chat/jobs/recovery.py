"""What a process puts right before it runs jobs."""

from __future__ import annotations

from datetime import datetime

from chat.actions import clock, deletions, jobs, messages


def recover(now: datetime) -> None:
    """Put right what a killed process left: half-written replies, held jobs, passed deadlines, wrong times.

    Only the process that holds the engine's lock may call it.
    """
    messages.stop_stale_replies()
    jobs.release_leases(now)
    clock.mend(now)
    deletions.finish_overdue(now)
