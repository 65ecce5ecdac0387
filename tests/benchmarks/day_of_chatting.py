"""Background model time in a day of chatting: `python -m tests.benchmarks.day_of_chatting`.

Simulates, with the call times of the default model, a usual day and a busy day on which jobs are deferred.
Prints a table and exits with 1 when a bar is missed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from datetime import timedelta

os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="memoryapp-benchmark-")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
os.environ.setdefault("LOG_LEVEL", "ERROR")

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402

from chat.actions.owners import local_owner  # noqa: E402
from tests.simulated_day import SimulatedDay, simulate_day  # noqa: E402

HOURS = 8.0
MAX_CATCH_UP = timedelta(hours=40)
MAX_SHARE = 0.05


def main() -> int:
    """Simulate a usual and a busy day, print their results, and return the exit code."""
    call_command("migrate", verbosity=0)
    days = [simulate_and_roll_back(per_hour) for per_hour in (30, 120)]
    for name, figures in table_rows(days):
        print(f"{name:<40}" + "".join(f"{figure:>16}" for figure in figures))
    kept = days[0].share < MAX_SHARE and not any(day.unread or day.given_up for day in days)
    print("\nall bars kept" if kept else "\na bar was MISSED")
    return 0 if kept else 1


def simulate_and_roll_back(per_hour: int) -> SimulatedDay:
    """Simulate a day, roll its rows back, and return its results."""
    with transaction.atomic():
        day = simulate_day(local_owner(), per_hour, HOURS, MAX_CATCH_UP)
        transaction.set_rollback(True)
    return day


def table_rows(days: list[SimulatedDay]) -> list[tuple[str, list[str]]]:
    """Return the lines of the table."""
    purposes = sorted({purpose for day in days for purpose in day.spent})
    return [
        ("messages an hour, for eight hours", [str(d.per_hour) for d in days]),
        ("messages, conversations", [f"{d.messages}, {d.conversations}" for d in days]),
        *((f"background seconds: {p}", [f"{d.spent.get(p, 0):.0f}" for d in days]) for p in purposes),
        ("part of the time while chatting (bar 5 %)", [f"{d.share:.1%}" for d in days]),
        ("lowest energy", [f"{d.lowest} %" for d in days]),
        ("most jobs that waited for energy", [str(d.most_waiting) for d in days]),
        ("longest until a message was read", [format_duration(d.longest_read) for d in days]),
        ("longest until “Remember that …” was done", [format_duration(d.longest_told) for d in days]),
        ("all done, after the first message", [format_duration(d.all_done) for d in days]),
        ("never read, given up (bar 0)", [f"{d.unread}, {d.given_up}" for d in days]),
    ]


def format_duration(time: timedelta) -> str:
    """Return a duration in seconds, or in minutes from two minutes on."""
    seconds = time.total_seconds()
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


if __name__ == "__main__":
    sys.exit(main())
