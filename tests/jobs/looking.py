"""Lets memory look, as it does by itself."""

from __future__ import annotations

from chat.jobs import runner


def look(clock) -> None:
    """Let the two seconds of quiet pass, and memory look."""
    clock(2)
    runner.run_due(["extract"])
