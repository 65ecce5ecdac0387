"""Checks of `manage.py doctor`: which processes use the database, and whether one of them runs jobs."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import DatabaseError

from chat.actions import installation, processes
from memoryapp.base import redis
from memoryapp.base.env import BadValue

from .findings import Finding, broken, note, ok


def check_processes() -> Iterator[Finding]:
    """Ask Redis, compare the secret key with that of the database, and list the processes that live."""
    if redis.is_configured():
        problem = redis.check_redis()
        yield broken("redis", problem) if problem else ok("redis", "answers")
    try:
        installation.require_same_secret()
        yield ok("secret key", "the one of the database")
        living = list(processes.find_living())
    except BadValue as other_key:
        yield broken("secret key", str(other_key))
        return
    except DatabaseError:
        # The check of the database says why.
        return
    names = ", ".join(str(row) for row in living) or "none runs now"
    if living and not any(row.runs_jobs for row in living):
        yield note("processes", f"{names}. No worker runs: start one with manage.py run_jobs, or unset JOBS.")
    else:
        yield ok("processes", names)
