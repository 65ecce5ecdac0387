"""What a process puts right before it runs jobs."""

from __future__ import annotations

from datetime import datetime

from chat.actions import clock, deletions, importing, jobs, messages


def recover(now: datetime) -> None:
    """Put right what a killed process left: half-written replies and imports, held jobs, passed deadlines.

    Only the process that holds the engine's lock may call it.
    """
    messages.stop_stale_replies()
    jobs.release_leases(now)
    clock.mend(now)
    deletions.finish_overdue(now)
    importing.remove_abandoned()
