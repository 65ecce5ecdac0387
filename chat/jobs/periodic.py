"""Threads that repeat small work until a block ends: renewing the leases of running jobs, and noticing that
the clock was set.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta

from django.db import DatabaseError, connection
from django.utils import timezone

from chat.actions import clock, jobs
from chat.models import Job

logger = logging.getLogger(__name__)


@contextmanager
def run_periodically(
    name: str, seconds: float, work: Callable[[], object], *, keep_connection: bool = False
) -> Iterator[None]:
    """Call `work` every `seconds` in a daemon thread until the block ends.

    A failure is logged and the work is tried again. With `keep_connection` the thread keeps its connection to
    the database for itself, so that it never waits for one.
    """
    over = threading.Event()
    arguments = (over, name, seconds, work, keep_connection)
    thread = threading.Thread(target=_repeat, args=arguments, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(5)


def _repeat(
    over: threading.Event, name: str, seconds: float, work: Callable[[], object], keep_connection: bool
) -> None:
    while not over.wait(seconds):
        close = not keep_connection
        try:
            work()
        except DatabaseError:
            close = True
            logger.warning("%s could not do its work, and tries again", name, exc_info=True)
        except Exception:  # a thread that ended would do nothing for the rest of the process's life
            logger.exception("%s failed, and tries again", name)
        finally:
            if close:
                connection.close()
    connection.close()


# Several renewals fit into `jobs.LEASE`, so a machine that stalls for a minute loses no lease.
RENEW_SECONDS = 60.0

# Guards `_at_work`: a lease must not be renewed while its job is being finished, or the job's row would stay.
_lock = threading.Lock()
_at_work: dict[int, Job] = {}


@contextmanager
def hold_lease(job: Job) -> Iterator[None]:
    """Register a claimed job as running until the block ends, so that its lease is renewed."""
    with _lock:
        _at_work[job.pk] = job
    try:
        yield
    finally:
        with _lock:
            _at_work.pop(job.pk, None)


def renew_leases() -> None:
    """Extend the leases of all jobs that run in this process."""
    with _lock:
        for job in _at_work.values():
            # At most four jobs: one for each thread.
            if not jobs.renew_lease(job, timezone.now()):
                logger.warning(
                    "another process has taken a job over", extra={"job": job.pk, "kind": job.kind}
                )


def return_jobs(now: datetime) -> None:
    """Release the jobs that still run here when the program ends, so that they start again at the next start.

    A job that ends after that no longer owns its row and leaves it unchanged.
    """
    with _lock:
        for job in _at_work.values():
            jobs.postpone(job, now)


def renew_leases_until_exit() -> AbstractContextManager[None]:
    """Renew leases every RENEW_SECONDS in a thread until the block ends."""
    return run_periodically("jobs-leases", RENEW_SECONDS, renew_leases)


_CHECK_SECONDS = 30.0


# If the clock goes ahead by at least this time, somebody has set it. After a smaller step nothing is deleted
# by age more than an hour too early.
_LEAP = timedelta(hours=1)


class _Clock:
    """How far the wall clock was ahead of the machine's uptime at the last check, in seconds."""

    def __init__(self) -> None:
        self._before = _ahead()

    def check(self) -> None:
        self._before = check_clock(self._before)


def watch_clock_until_exit() -> AbstractContextManager[None]:
    """Check the clock every 30 seconds in a thread until the block ends."""
    return run_periodically("jobs-clock", _CHECK_SECONDS, _Clock().check)


def check_clock(before: float) -> float:
    """Store the clock's reading; if the clock went back by more than AHEAD, let no job or undo wait too long.

    `before` is the difference of wall clock and uptime at the last check, in seconds. Returns the difference
    now, or `before` where the database failed, so that the next check tries again.
    """
    ahead = _ahead()
    went_back = before - ahead >= clock.AHEAD.total_seconds()
    leapt = went_back or ahead - before >= _LEAP.total_seconds()
    try:
        clock.read_clock(timezone.now(), leapt=leapt)
        if went_back:
            clock.pull_in_all(timezone.now())
    except DatabaseError:
        logger.warning("the clock's reading could not be stored yet", exc_info=True)
        return before
    return ahead


def _ahead() -> float:
    return time.time() - _read_uptime()


def _read_uptime() -> float:
    """Return the seconds of a clock that goes on while the machine sleeps, where the system has one."""
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):
        if hasattr(time, name):
            return time.clock_gettime(getattr(time, name))
    return time.monotonic()
