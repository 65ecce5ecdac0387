"""Runs durable jobs in threads of this process: quick, urgent, usual and slow ones."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from django.db import close_old_connections
from django.utils import timezone

from chat.actions import energy, jobs
from chat.llm.registry import registry
from chat.llm.state import ModelState, Status
from chat.llm.types import ModelNotReady, Unfinished
from chat.models import Job
from memoryapp import logs

from . import (  # noqa: F401 - importing registers
    app_memories,
    clock,
    handlers,
    indexing,
    leases,
    packing,
    titles,
)
from .registry import HANDLERS, MODEL, PERIODIC, QUICK, SLOW, Postpone

logger = logging.getLogger(__name__)

# Work that is asked for in this process wakes the runner at once; this finds what another process asks for.
# A look at the table takes 3 ms of a core on which a reply is being written (measured): not twice a second.
POLL_SECONDS = 5.0
# A model that went away, or a call that it broke off. Until it is back no lane takes such work (`Lane.able`),
# so that this is no more than how long the first of it waits then.
_WITHOUT_MODEL = timedelta(seconds=5)
# What of a payload stands in the log.
_NAMED = ("conversation", "topic", "deletion", "fact")


class Outcome(Enum):
    """What came of running a job."""

    DONE = "done"
    POSTPONED = "postponed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Lane:
    """What one thread does; with `urgent` only what the user waits for."""

    name: str
    kinds: frozenset[str]
    urgent: bool = False

    def able(self, now: datetime) -> frozenset[str]:
        """Return the kinds that could begin now: without a model, or energy, none that needs it.

        Were each job that waits for energy taken and put off, they all would be again after each one that is
        done.
        """
        kinds = self.kinds if registry.status().state is ModelState.READY else self.kinds - MODEL
        return kinds - energy.SPENDING.keys() if self._waits_until(now) else kinds

    def next_time(self, now: datetime) -> datetime | None:
        """Return when this lane has something to do as things stand, None when nothing waits."""
        able = Job.objects.filter(kind__in=self.able(now))
        times = [(able.urgent() if self.urgent else able).next_due(), self._waits_until(now)]
        return min((time for time in times if time is not None), default=None)

    def _waits_until(self, now: datetime) -> datetime | None:
        if self.urgent or not self.kinds & energy.SPENDING.keys():
            return None
        return energy.low_until(now)


def lanes() -> tuple[Lane, ...]:
    """Return the threads' work: a deadline waits for no model, and what was asked for for no long work."""
    usual = HANDLERS.keys() - QUICK - SLOW
    return (
        Lane("quick", frozenset(QUICK)),
        Lane("urgent", frozenset(usual), urgent=True),
        Lane("model", frozenset(usual)),
        Lane("slow", frozenset(SLOW)),
    )


class JobRunner:
    """Owns the threads; `start` and `stop` are called by the process that holds the engine."""

    def __init__(self) -> None:
        self._stopping = False
        self._lanes = {lane: threading.Event() for lane in lanes()}
        self._threads: list[threading.Thread] = []
        self._open = ExitStack()

    def start(self) -> None:
        """Begin to look for due jobs."""
        jobs.on_enqueue(self._look_again)
        registry.on_change(self._model_changed)
        self._open.enter_context(leases.renewed())
        self._open.enter_context(clock.watched())
        for lane in self._lanes:
            thread = threading.Thread(target=self._loop, args=(lane,), name=f"jobs-{lane.name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop_taking(self) -> None:
        """Begin no more jobs; whoever closes the model after this makes those that wait for it end."""
        self._stopping = True
        self._look_again()

    def stop(self, timeout: float = 5.0) -> None:
        """Take no new jobs and wait for those at work; one that does not end in time runs again later."""
        self.stop_taking()
        for thread in self._threads:
            thread.join(timeout)
        if self._threads:
            jobs.off_enqueue(self._look_again)
            registry.off_change(self._model_changed)
        self._open.close()
        # The program's end is no failed attempt.
        leases.give_back(timezone.now())

    def _model_changed(self, _status: Status) -> None:
        self._look_again()

    def _look_again(self) -> None:
        for wake in self._lanes.values():
            wake.set()

    def _loop(self, lane: Lane) -> None:
        wake = self._lanes[lane]
        while not self._stopping:
            wake.clear()
            try:
                ran = run_one(lane.able(timezone.now()), urgent=lane.urgent)
                pause = 0.0 if ran else _seconds_until(lane.next_time(timezone.now()))
            except Exception:  # a thread that ended would do nothing for the rest of the program's life
                logger.exception("the next job could not be taken, or its end not saved")
                pause = POLL_SECONDS
            finally:
                close_old_connections()
            wake.wait(pause)


def _seconds_until(due: datetime | None) -> float:
    if due is None:
        return POLL_SECONDS
    return min(POLL_SECONDS, max(0.0, (due - timezone.now()).total_seconds()))


def run_one(
    kinds: Collection[str], *, urgent: bool = False, but: Collection[int] = ()
) -> tuple[int, Outcome] | None:
    """Run the most urgent due job of these kinds; returns its key and what came of it, None where none is.

    With `urgent` only what the user waits for, and none of those whose keys are in `but`.
    """
    job = jobs.claim(kinds, timezone.now(), urgent=urgent, but=but)
    return None if job is None else (job.pk, _run(job))


def _run(job: Job) -> Outcome:
    began = time.monotonic()
    ids = {name: job.payload[name] for name in _NAMED if name in job.payload}
    with logs.about(job=job.pk, kind=job.kind, **ids):
        try:
            with leases.held(job):
                HANDLERS[job.kind](job.payload)
        except Postpone as later:
            return _put_off(job, later.until)
        except (ModelNotReady, Unfinished):
            return _put_off(job, timezone.now() + _WITHOUT_MODEL)
        except Exception as error:  # a job's failure is kept in its row and tried again
            logger.warning("the job failed", exc_info=True)
            jobs.failed(job, logs.told(error), _next_time(job))
            return Outcome.FAILED
        else:
            logger.info("done", extra={"seconds": round(time.monotonic() - began, 3)})
            jobs.done(job, _next_time(job))
            return Outcome.DONE
        finally:
            energy.settle()


def _put_off(job: Job, until: datetime) -> Outcome:
    logger.info("put off until %s", until.isoformat(timespec="seconds"))
    jobs.postpone(job, until)
    return Outcome.POSTPONED


def _next_time(job: Job) -> datetime | None:
    return PERIODIC[job.kind](timezone.now()) if job.kind in PERIODIC else None


def run_due(kinds: Collection[str] | None = None, stopped: Callable[[], bool] = lambda: False) -> int:
    """Run due jobs in this thread until none is left or it is to stop; returns how many were done.

    One that was put off or failed is not tried again in the same run, so that the run has an end.
    """
    count, tried = 0, set[int]()
    chosen = HANDLERS.keys() if kinds is None else kinds
    while not stopped() and (ran := run_one(chosen, but=tried)) is not None:
        key, outcome = ran
        if outcome is Outcome.DONE:
            count += 1
        else:
            tried.add(key)
    return count
