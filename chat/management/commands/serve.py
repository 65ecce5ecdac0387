"""`manage.py serve`: runs the web server, the job threads and the engine."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
import webbrowser
from argparse import ArgumentParser
from importlib import import_module
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from chat.actions import (
    conversations,
    events,
    found_servers,
    installation,
    jobs,
    leftovers,
    processes,
    provider,
    recovery,
)
from chat.actions.own_model import preparation
from chat.actions.owners import is_local, local_owner
from chat.actions.readiness import CONNECTING_SECONDS
from chat.generation import run as generation
from chat.jobs import schedule
from chat.jobs.heartbeat import live_as
from chat.jobs.prompts import start_warming
from chat.jobs.runner import JobRunner
from chat.llm.model_status import ModelStatus
from chat.llm.registry import registry
from chat.management.engine_lock import lock_engine, sign_lock
from chat.management.first_link import describe_other_accounts, print_first_link
from chat.models import ProcessKind
from memoryapp.base.error_text import explain_port_error
from memoryapp.base.machine import limit_memory_arenas
from memoryapp.base.provider import is_loopback

NO_WORKER = (
    "Background work is off here (JOBS=off), and no worker runs: memory learns nothing, and what is deleted "
    "stays until one does. Start one: manage.py run_jobs"
)


class Command(BaseCommand):
    """Serve memoryapp on this machine."""

    help = "Serve memoryapp; `python3 manage.py start` prepares everything and calls this."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--no-browser", action="store_true")
        parser.add_argument(
            "--use",
            default="",
            metavar="PROGRAM[:MODEL]",
            help="use this model of a program on this machine from now on, such as ollama:qwen3:4b",
        )
        parser.add_argument(
            "--until-eof",
            action="store_true",
            help="end with the standard input, for a program that starts this",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = options["host"], options["port"]
        if settings.MODE == "local" and not is_loopback(host):
            raise CommandError(
                f"In local mode memoryapp answers this machine only, so it cannot listen on {host}. "
                "Leave --host out, or set MODE=server, which asks everyone to log in."
            )
        if not 0 <= port < 65536:
            raise CommandError(f"--port {port} is no port: it must be between 0 (any free one) and 65535.")
        if options["until_eof"]:
            end_with_pipe(sys.stdin.fileno())
        limit_memory_arenas()
        require_jobs_somewhere()
        lock = lock_engine(settings.DATA_DIR, "serve")
        installation.require_same_secret()
        listener = _listen(host, port)
        port = listener.getsockname()[1]
        address = (
            f"http://[{host.strip('[]')}]:{port}/" if ":" in host.strip("[]") else f"http://{host}:{port}/"
        )
        sign_lock(lock, address)
        leftovers.remove_leftovers(settings.DATA_DIR)
        if options["use"]:
            found_servers.choose_by_text(options["use"])
        with live_as(ProcessKind.SERVE, runs_jobs=settings.JOBS == "on"):
            self._run(listener, address, opens_browser=not options["no_browser"])
        lock.close()

    def _run(self, listener: socket.socket, address: str, *, opens_browser: bool) -> None:
        # uvicorn raises the signal again after its shutdown; the default handler would then end the process
        # at once.
        signal.signal(signal.SIGTERM, _exit)
        _recover()
        runner = JobRunner() if settings.JOBS == "on" else None
        try:
            registry.add_listener(_announce_model)
            events.listen()
            generation.listen_to_others()
            provider.load_chosen_model(parking=True)
            start_warming()
            if runner is not None:
                runner.start()
            if processes.is_database_shared():
                _prepare_answers()
            self._announce(address, opens_browser=opens_browser)
            _serve(listener)
        finally:
            _end(runner)

    def _announce(self, address: str, *, opens_browser: bool) -> None:
        self.stdout.write(f"memoryapp is at {address}  (Ctrl-C stops it)")
        if note := describe_other_accounts():
            self.stdout.write(note)
        print_first_link(sys.stdout, address)
        if not processes.has_job_runner():
            self.stderr.write(NO_WORKER)
        if opens_browser and _has_display():
            threading.Timer(0.5, webbrowser.open, args=(address,)).start()


def require_jobs_somewhere() -> None:
    """Raise CommandError for JOBS=off where no other process could do the background work."""
    if settings.JOBS == "off" and not processes.is_database_shared():
        raise CommandError(
            "JOBS=off leaves background work to `manage.py run_jobs`, which runs beside a server with "
            "PostgreSQL only. Unset JOBS, or set DATABASE_URL."
        )


def _end(runner: JobRunner | None) -> None:
    preparation.stop()
    # First save the replies that are being written.
    generation.stop_all()
    if runner is None:
        registry.close()
        return
    # Jobs that wait for the model would delay the end; closing the registry interrupts them, and they are put
    # back.
    runner.stop_taking()
    registry.close()
    runner.stop()


def _prepare_answers() -> None:
    """Import the code of all pages and wait for the model's servers, while the port refuses connections.

    A proxy that does not ask `/ready` sends requests here as soon as the port accepts connections. Until
    then, the proxy sends them to the other servers that use the same database.
    """
    import_module(settings.ROOT_URLCONF)
    if registry.status().remote:
        registry.wait_ready(CONNECTING_SECONDS)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
    except OSError as error:
        raise CommandError(explain_port_error(host, port, error)) from error
    return listener


def _recover() -> None:
    """Stop the replies and free the jobs of processes that were killed; enqueue periodic work."""
    now = timezone.now()
    if is_local():
        local_owner()
    if not recovery.recover_at_start(now):
        # Other processes live: what they hold is theirs, and periodic work that is queued keeps its time.
        schedule.enqueue_missing(now)
        return
    jobs.enqueue("reindex", {}, key="reindex")
    conversations.postpone_ends_at_start(now)
    schedule.enqueue_all(now)


def _announce_model(_status: ModelStatus) -> None:
    events.send_now(events.EVERYONE, {"type": "model"})


def _exit(_number: int, _frame: Any) -> None:
    raise SystemExit(0)


def end_with_pipe(descriptor: int) -> None:
    """Send SIGTERM to this process when the other end of a pipe is closed."""

    def wait() -> None:
        # Not through sys.stdin, whose lock would block the end of the process.
        while os.read(descriptor, 1024):
            pass
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=wait, name="until-eof", daemon=True).start()


def _has_display() -> bool:
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def _serve(listener: socket.socket) -> None:
    config = uvicorn.Config(
        "memoryapp.asgi:application",
        # Use Django's logging; access logs would contain search texts.
        log_config=None,
        log_level="warning",
        # With proxy headers a client could claim to be on loopback. Django sends no lifespan events.
        proxy_headers=False,
        lifespan="off",
        # By their names: `chat` imports `memoryapp.base` only.
        http="memoryapp.connections:BoundedHttp",
        ws="memoryapp.connections:BoundedSocket",
        # Bytes of one frame of a page. They are parsed in the event loop; the longest has some hundred bytes.
        ws_max_size=64 * 1024,
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
