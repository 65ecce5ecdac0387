"""Runs durable jobs in threads of this process: one for quick jobs, and one or more each for urgent, normal
and slow jobs. Several processes on one database share the jobs.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from django.db import close_old_connections
from django.utils import timezone

from chat.actions import energy, jobs, processes
from chat.actions.owners import is_local
from chat.errors import AppError, ModelNotReady, Unfinished
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.models import Job
from memoryapp.base import logs
from memoryapp.base.message_bus import bus

from . import app_memories, conversations, embeddings, extract, maintenance, periodic, prompts  # noqa: F401 - importing registers
from .registry import HANDLERS, MODEL, PERIODIC, QUICK, SLOW, Postpone

logger = logging.getLogger(__name__)

# A job that this process enqueues wakes the runner at once; polling finds those of other processes. One poll
# takes 3 ms of a core (measured), which slows down a running reply, so it is not done twice a second.
POLL_SECONDS = 5.0
# Where several processes share the database.
SHARED_POLL_SECONDS = 1.0
# Delay after a model became unavailable or a call was interrupted. Until the model is ready,
# `JobThread.runnable_kinds` excludes such jobs, so only the first one is postponed this way.
_WITHOUT_MODEL = timedelta(seconds=5)
# The log line of a job names these entries of its payload, which are ids.
_NAMED = ("conversation", "topic", "deletion", "fact")


class JobOutcome(Enum):
    """The result of running a job."""

    DONE = "done"
    POSTPONED = "postponed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class JobThread:
    """The kinds of jobs that one thread runs; with `urgent` only jobs that a user waits for."""

    name: str
    kinds: frozenset[str]
    urgent: bool = False
    # Tells threads with the same jobs apart.
    number: int = 1

    def runnable_kinds(self, now: datetime) -> frozenset[str]:
        """Return the kinds that could run now: none that needs a model while there is none, none that needs
        energy while it is low.

        Without this filter, all jobs that wait for energy would be claimed and postponed again after each
        job.
        """
        kinds = self.kinds if registry.status().state is ModelState.READY else self.kinds - MODEL
        return kinds - jobs.DEFERRABLE_KINDS.keys() if self._waits_until(now) else kinds

    def find_resting(self, now: datetime) -> Mapping[int, datetime]:
        """Return the owners whose energy is low, with the time until when; in local mode none."""
        return energy.find_low_owners(now) if self._uses_energy() else {}

    def find_next_time(self, now: datetime) -> datetime | None:
        """Return when this thread has something to do next (wall clock), None when nothing waits."""
        resting = self.find_resting(now)
        able = Job.objects.filter(kind__in=self.runnable_kinds(now))
        able = able.without_resting(jobs.DEFERRABLE_KINDS, resting)
        times = [
            (able.urgent() if self.urgent else able).next_due(),
            self._waits_until(now),
            *resting.values(),
        ]
        return min((time for time in times if time is not None), default=None)

    def _uses_energy(self) -> bool:
        return not self.urgent and bool(self.kinds & jobs.DEFERRABLE_KINDS.keys())

    def _waits_until(self, now: datetime) -> datetime | None:
        """Return until when the kinds that need energy wait, in local mode; None while there is enough.

        In server mode each person has a level of their own, so no kind waits for everybody.
        """
        return energy.find_low_until(now) if is_local() and self._uses_energy() else None


def job_threads(workers: int = 1) -> tuple[JobThread, ...]:
    """Return the threads. Deadlines never wait for a model, and urgent jobs never wait for long ones.

    `workers` is how many jobs of each of the longer kinds run at once.
    """
    usual = HANDLERS.keys() - QUICK - SLOW
    found = [JobThread("quick", frozenset(QUICK))]
    for number in range(1, workers + 1):
        found += [
            JobThread("urgent", frozenset(usual), urgent=True, number=number),
            JobThread("model", frozenset(usual), number=number),
            JobThread("slow", frozenset(SLOW), number=number),
        ]
    return tuple(found)


class JobRunner:
    """Owns the threads. Where the database is a SQLite file, only the process that holds the engine's lock
    may start one.
    """

    def __init__(self, workers: int = 1) -> None:
        self._stopping = False
        self._lanes = {lane: threading.Event() for lane in job_threads(workers)}
        self._poll_seconds = SHARED_POLL_SECONDS if processes.is_database_shared() else POLL_SECONDS
        self._threads: list[threading.Thread] = []
        self._open = ExitStack()

    def start(self) -> None:
        """Start the threads."""
        jobs.add_enqueue_listener(self._wake_threads)
        bus.listen(jobs.WAKE, self._on_message)
        registry.add_listener(self._on_model_change)
        self._open.enter_context(periodic.renew_leases_until_exit())
        self._open.enter_context(periodic.watch_clock_until_exit())
        for lane in self._lanes:
            name = f"jobs-{lane.name}-{lane.number}" if lane.number > 1 else f"jobs-{lane.name}"
            thread = threading.Thread(target=self._loop, args=(lane,), name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop_taking(self) -> None:
        """Start no more jobs. Closing the model after this call ends the jobs that wait for it."""
        self._stopping = True
        self._wake_threads()

    def stop(self, timeout: float = 5.0) -> None:
        """Start no more jobs and wait `timeout` seconds for each thread.

        A job that does not end in time runs again, here at the next start or in another process.
        """
        self.stop_taking()
        for thread in self._threads:
            thread.join(timeout)
        if self._threads:
            jobs.remove_enqueue_listener(self._wake_threads)
            bus.forget(jobs.WAKE, self._on_message)
            registry.remove_listener(self._on_model_change)
        self._open.close()
        # Ending the program does not count as a failed attempt.
        periodic.return_jobs(timezone.now())

    def _on_model_change(self, _status: ModelStatus) -> None:
        self._wake_threads()

    def _on_message(self, _message: dict[str, Any]) -> None:
        self._wake_threads()

    def _wake_threads(self) -> None:
        for wake in self._lanes.values():
            wake.set()

    def _loop(self, lane: JobThread) -> None:
        wake = self._lanes[lane]
        while not self._stopping:
            wake.clear()
            try:
                now = timezone.now()
                ran = run_one(lane.runnable_kinds(now), urgent=lane.urgent, resting=lane.find_resting(now))
                pause = 0.0 if ran else self._seconds_until(lane.find_next_time(timezone.now()))
            except Exception:  # a thread that ended would do nothing for the rest of the program's life
                logger.exception("the next job could not be claimed, or its outcome not saved")
                pause = self._poll_seconds
            finally:
                close_old_connections()
            wake.wait(pause)

    def _seconds_until(self, due: datetime | None) -> float:
        if due is None:
            return self._poll_seconds
        return min(self._poll_seconds, max(0.0, (due - timezone.now()).total_seconds()))


def run_one(
    kinds: Collection[str],
    *,
    urgent: bool = False,
    but: Collection[int] = (),
    resting: Collection[int] = (),
) -> tuple[int, JobOutcome] | None:
    """Run the most urgent due job of these kinds. Returns its key and outcome, None where no job is due.

    With `urgent` only jobs that a user waits for; never one of those whose keys are in `but`, and none that
    needs energy of an owner in `resting`.
    """
    job = jobs.claim(kinds, timezone.now(), urgent=urgent, but=but, resting=resting)
    return None if job is None else (job.pk, _run(job))


def _run(job: Job) -> JobOutcome:
    began = time.monotonic()
    ids = {name: job.payload[name] for name in _NAMED if name in job.payload}
    with logs.log_context(job=job.pk, kind=job.kind, **ids):
        try:
            with periodic.hold_lease(job):
                HANDLERS[job.kind](job.payload)
        except Postpone as later:
            return _postpone(job, later.until)
        except (ModelNotReady, Unfinished):
            return _postpone(job, timezone.now() + _WITHOUT_MODEL)
        except Exception as error:  # a job's failure is kept in its row and tried again
            logger.warning("the job failed", exc_info=True)
            jobs.record_failure(job, _reason(error), _next_time(job))
            return JobOutcome.FAILED
        else:
            logger.info("done", extra={"seconds": round(time.monotonic() - began, 3)})
            jobs.complete(job, _next_time(job))
            return JobOutcome.DONE
        finally:
            energy.save_meter()


def _reason(error: Exception) -> str:
    """Return what a job's row keeps of an error: its code where it has one, else its type and text."""
    return error.reason.encode() if isinstance(error, AppError) else logs.describe_error(error)


def _postpone(job: Job, until: datetime) -> JobOutcome:
    logger.info("postponed until %s", until.isoformat(timespec="seconds"))
    jobs.postpone(job, until)
    return JobOutcome.POSTPONED


def _next_time(job: Job) -> datetime | None:
    return PERIODIC[job.kind](timezone.now()) if job.kind in PERIODIC else None


def run_due(kinds: Collection[str] | None = None, stopped: Callable[[], bool] = lambda: False) -> int:
    """Run due jobs in this thread until none is left or `stopped()`; return the number that were done.

    A job that was postponed or failed is not tried again in the same call.
    """
    count, tried = 0, set[int]()
    chosen = HANDLERS.keys() if kinds is None else kinds
    while not stopped() and (ran := run_one(chosen, but=tried)) is not None:
        key, outcome = ran
        if outcome is JobOutcome.DONE:
            count += 1
        else:
            tried.add(key)
    return count
