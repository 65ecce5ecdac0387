"""`manage.py run_jobs`: runs background work without the web server, or with PostgreSQL beside several."""

from __future__ import annotations

import signal
import threading
from argparse import ArgumentParser
from typing import IO, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from chat.actions import energy, installation, processes, provider, recovery
from chat.actions import jobs as actions
from chat.jobs import periodic, schedule
from chat.jobs.heartbeat import live_as
from chat.jobs.prompts import start_warming, warm_fixed_prompts
from chat.jobs.registry import HANDLERS, MODEL, QUICK, SLOW
from chat.jobs.runner import JobRunner, run_due
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.management.engine_lock import EngineTaken, lock_engine
from chat.models import ProcessKind
from chat.text import format_as_one_line

_LOADING_SECONDS = 600.0


class Command(BaseCommand):
    """Run background work until Ctrl-C, or with --once the jobs that are due."""

    help = (
        "Run background work without the web server, until Ctrl-C; with --once what is due now. With "
        "PostgreSQL and a model on a server, as many of these as you like work beside each other and beside "
        "servers. With SQLite there is nothing to do here while memoryapp runs: it does its own."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="do what is due and end")
        parser.add_argument(
            "--workers",
            type=int,
            default=1,
            help="how many jobs of a kind run at once (default: %(default)s)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["workers"] < 1:
            raise CommandError("--workers must be at least 1.")
        installation.require_same_secret()
        lock: IO[str] | None = None
        if not processes.is_database_shared():
            if (lock := self._lock_or_explain(once=options["once"])) is None:
                return
        elif provider.read_choice() is None:
            lock = _lock_own_model()
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        try:
            with live_as(ProcessKind.RUN_JOBS, runs_jobs=True):
                alone = recovery.recover_at_start(timezone.now())
                if options["once"]:
                    self._run_once(stop, local=lock is not None)
                else:
                    self._run_until(stop, options["workers"], local=lock is not None, alone=alone)
        finally:
            registry.close()
            if lock is not None:
                lock.close()

    def _lock_or_explain(self, *, once: bool) -> IO[str] | None:
        """Return the engine's lock, or None where a server does the work. Raises EngineTaken."""
        try:
            return lock_engine(settings.DATA_DIR, "run_jobs")
        except EngineTaken as taken:
            if not taken.is_server:
                raise
            said = f"memoryapp is running at {taken.holder} and does its background work itself."
            if not once:
                raise EngineTaken(f"{said} Stop it first to run it here.", taken.holder) from taken
            self.stdout.write(said)
            return None

    def _run_once(self, stop: threading.Event, *, local: bool) -> None:
        schedule.enqueue_missing(timezone.now())
        threading.Thread(target=_close_after, args=(stop,), name="closing", daemon=True).start()
        with periodic.renew_leases_until_exit():
            count = run_due(QUICK, stop.is_set)
            model = HANDLERS.keys() - QUICK
            if not stop.is_set() and actions.is_due(model, timezone.now()):
                kinds = model if self._load(local=local) else model - MODEL
                # Short jobs first, as in the server.
                count += sum(run_due(some, stop.is_set) for some in (kinds - SLOW, kinds & SLOW, QUICK))
        self.stdout.write(f"{count} jobs done. {_describe_waiting()}".strip())

    def _run_until(self, stop: threading.Event, workers: int, *, local: bool, alone: bool) -> None:
        registry.add_listener(self._report_problem)
        provider.load_chosen_model(local=local)
        start_warming()
        (schedule.enqueue_all if alone else schedule.enqueue_missing)(timezone.now())
        runner = JobRunner(workers)
        runner.start()
        self.stdout.write("Running background work  (Ctrl-C stops it)")
        self.stdout.flush()
        stop.wait()
        self.stdout.write("Stopping. Unfinished jobs continue the next time.")
        self.stdout.flush()
        runner.stop_taking()
        registry.close()
        runner.stop()

    def _load(self, *, local: bool) -> bool:
        """Load the model and warm its prompts; return False where it cannot be loaded."""
        provider.load_chosen_model(local=local)
        if ready := registry.wait_ready(_LOADING_SECONDS):
            warm_fixed_prompts()
        else:
            self._report_problem(registry.status())
        return ready

    def _report_problem(self, status: ModelStatus) -> None:
        if status.state in (ModelState.MISSING, ModelState.FAILED, ModelState.AWAY):
            mend = f" Mend it with `{status.command}`." if status.command else ""
            self.stderr.write(format_as_one_line(f"{status.sentence}{mend} Work that needs the model waits."))


def _lock_own_model() -> IO[str]:
    """Return the engine's lock, for a worker that loads the model itself. Raises EngineTaken."""
    try:
        return lock_engine(settings.DATA_DIR, "run_jobs")
    except EngineTaken as taken:
        raise EngineTaken(
            f"The model of this machine is in use already ({taken.holder}), and one process can use it. A "
            "worker beside it needs a model on a server: choose one in the settings, or set PROVIDER_URL.",
            taken.holder,
        ) from taken


def _close_after(stop: threading.Event) -> None:
    """Close the model once the command is asked to stop; interrupted jobs run again the next time."""
    stop.wait()
    registry.close()


def _describe_waiting() -> str:
    status = energy.read_status(timezone.now())
    if not status.waiting or status.until is None:
        return ""
    until = timezone.localtime(status.until)
    return f"{status.waiting} wait until {until:%H:%M}: energy is at {status.percent} %."
