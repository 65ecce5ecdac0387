"""Keeps the jobs at work in this process its own for as long as they take."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime

from django.utils import timezone

from chat.actions import jobs
from chat.models import Job

from .beside import repeated

logger = logging.getLogger(__name__)

# Several times within `jobs.LEASE`, so that a machine that stalls for a minute loses nothing.
RENEW_SECONDS = 60.0

# A lease is not renewed while its job is being put away, or its row would stay behind.
_lock = threading.Lock()
_at_work: dict[int, Job] = {}


@contextmanager
def held(job: Job) -> Iterator[None]:
    """Count a claimed job as at work until the block ends; put it away after that."""
    with _lock:
        _at_work[job.pk] = job
    try:
        yield
    finally:
        with _lock:
            _at_work.pop(job.pk, None)


def renew() -> None:
    """Prolong the leases of all jobs at work in this process."""
    with _lock:
        for job in _at_work.values():
            # There are four threads at most, each with one job.
            if not jobs.renew(job, timezone.now()):
                logger.warning(
                    "another process has taken a job over", extra={"job": job.pk, "kind": job.kind}
                )


def give_back(now: datetime) -> None:
    """Put back what is still at work here when the program ends: it begins anew at the next start.

    Should it end by itself after that, its row is not its own any more and stays.
    """
    with _lock:
        for job in _at_work.values():
            jobs.postpone(job, now)


def renewed() -> AbstractContextManager[None]:
    """Renew them again and again in a thread of its own until the block ends."""
    return repeated("jobs-leases", RENEW_SECONDS, renew)
