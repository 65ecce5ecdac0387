"""What memory takes of the model in a day of chatting: `python -m tests.benchmarks.day`.

A simulation with the default model's seconds, of a usual day and of one on which work is deferred and done
later. It prints a table, and exits with 1 when a bar is missed.
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
from tests.simulated_day import Day, simulate  # noqa: E402

HOURS = 8.0
LATER = timedelta(hours=40)
MOST = 0.05


def main() -> int:
    """Live through a usual and a busy day, and print what came of them; returns the exit code."""
    call_command("migrate", verbosity=0)
    days = [lived(per_hour) for per_hour in (30, 120)]
    for name, figures in rows(days):
        print(f"{name:<40}" + "".join(f"{figure:>16}" for figure in figures))
    kept = days[0].share < MOST and not any(day.unread or day.given_up for day in days)
    print("\nall bars kept" if kept else "\na bar was MISSED")
    return 0 if kept else 1


def lived(per_hour: int) -> Day:
    """Return a day, and leave nothing of it behind."""
    with transaction.atomic():
        day = simulate(local_owner(), per_hour, HOURS, LATER)
        transaction.set_rollback(True)
    return day


def rows(days: list[Day]) -> list[tuple[str, list[str]]]:
    """Return the lines of the table."""
    purposes = sorted({purpose for day in days for purpose in day.spent})
    return [
        ("messages an hour, for eight hours", [str(d.per_hour) for d in days]),
        ("messages, conversations", [f"{d.messages}, {d.conversations}" for d in days]),
        *((f"background seconds: {p}", [f"{d.spent.get(p, 0):.0f}" for d in days]) for p in purposes),
        ("part of the time while chatting (bar 5 %)", [f"{d.share:.1%}" for d in days]),
        ("lowest energy", [f"{d.lowest} %" for d in days]),
        ("most jobs that waited for energy", [str(d.most_waiting) for d in days]),
        ("longest until a message was read", [minutes_of(d.longest_read) for d in days]),
        ("longest until “Remember that …” was done", [minutes_of(d.longest_told) for d in days]),
        ("all done, after the first message", [minutes_of(d.all_done) for d in days]),
        ("never read, given up (bar 0)", [f"{d.unread}, {d.given_up}" for d in days]),
    ]


def minutes_of(time: timedelta) -> str:
    """Return a time as a table has room for it."""
    seconds = time.total_seconds()
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


if __name__ == "__main__":
    sys.exit(main())
