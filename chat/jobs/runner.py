"""Runs durable jobs in threads of this process: quick ones, those that use the model, and slow ones."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection
from contextlib import ExitStack
from datetime import datetime

from django.db import DatabaseError, close_old_connections
from django.utils import timezone

from chat.actions import energy, jobs
from chat.models import Job
from memoryapp import logs

from . import app_memories, handlers, leases, packing, titles  # noqa: F401 - importing registers
from .registry import HANDLERS, PERIODIC, QUICK, SLOW, Postpone

logger = logging.getLogger(__name__)

# Work that is asked for in this process wakes the runner at once; this finds what another process asks for.
# A look at the table takes 3 ms of a core on which a reply is being written (measured): not twice a second.
POLL_SECONDS = 5.0
# What of a payload stands in the log.
_NAMED = ("conversation", "topic", "deletion", "fact")


class JobRunner:
    """Owns the threads; `start` and `stop` are called by the process that holds the engine."""

    def __init__(self) -> None:
        self._stopping = False
        self._wake = [threading.Event(), threading.Event(), threading.Event()]
        self._threads: list[threading.Thread] = []
        self._open = ExitStack()

    def start(self) -> None:
        """Begin to look for due jobs."""
        jobs.on_enqueue(self._look_again)
        self._open.enter_context(leases.renewed())
        lanes = (("quick", QUICK), ("model", HANDLERS.keys() - QUICK - SLOW), ("slow", SLOW))
        for wake, (name, kinds) in zip(self._wake, lanes, strict=True):
            thread = threading.Thread(
                target=self._loop, args=(frozenset(kinds), wake), name=f"jobs-{name}", daemon=True
            )
            thread.start()
            self._threads.append(thread)

    def stop(self, timeout: float = 5.0) -> None:
        """Take no new jobs and wait for those at work; one that does not end in time runs again later."""
        self._stopping = True
        self._look_again()
        for thread in self._threads:
            thread.join(timeout)
        if self._threads:
            jobs.off_enqueue(self._look_again)
        self._open.close()

    def _look_again(self) -> None:
        for wake in self._wake:
            wake.set()

    def _loop(self, kinds: Collection[str], wake: threading.Event) -> None:
        while not self._stopping:
            wake.clear()
            try:
                pause = 0.0 if run_one(kinds) else _seconds_until_due(kinds)
            except DatabaseError:
                logger.exception("the job table could not be read")
                pause = POLL_SECONDS
            finally:
                close_old_connections()
            wake.wait(pause)


def _seconds_until_due(kinds: Collection[str]) -> float:
    due = Job.objects.filter(kind__in=kinds).next_due()
    if due is None:
        return POLL_SECONDS
    return min(POLL_SECONDS, max(0.0, (due - timezone.now()).total_seconds()))


def run_one(kinds: Collection[str]) -> bool:
    """Run the most urgent due job of these kinds; False when there is none."""
    job = jobs.claim(kinds, timezone.now())
    if job is None:
        return False
    _run(job)
    return True


def _run(job: Job) -> None:
    began = time.monotonic()
    ids = {name: job.payload[name] for name in _NAMED if name in job.payload}
    with logs.about(job=job.pk, kind=job.kind, **ids):
        try:
            with leases.held(job):
                HANDLERS[job.kind](job.payload)
        except Postpone as later:
            logger.info("put off until %s", later.until.isoformat(timespec="seconds"))
            jobs.postpone(job, later.until)
        except Exception as error:  # a job's failure is kept in its row and tried again
            logger.warning("the job failed", exc_info=True)
            jobs.failed(job, logs.told(error), _next_time(job))
        else:
            logger.info("done", extra={"seconds": round(time.monotonic() - began, 3)})
            jobs.done(job, _next_time(job))
        finally:
            energy.settle()


def _next_time(job: Job) -> datetime | None:
    return PERIODIC[job.kind](timezone.now()) if job.kind in PERIODIC else None


def run_due(kinds: Collection[str] | None = None, limit: int = 100) -> int:
    """Run due jobs in this thread until none is left; returns how many ran."""
    count = 0
    while count < limit and run_one(kinds if kinds is not None else HANDLERS.keys()):
        count += 1
    return count
