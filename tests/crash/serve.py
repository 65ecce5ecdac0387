"""`python -m tests.crash.serve`: imports the product once, and starts its commands as copies of this process.

Importing takes most of the time of a start. Each line of the standard input is an order in JSON; each is
answered by a line. A copy is a process of its own: it can be killed, stopped, told to die at a step, and
given a wrong clock.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from datetime import datetime
from importlib import import_module
from typing import Any

from .steps import install_step


def main() -> None:
    """Carry out orders until the standard input ends, then kill what still runs."""
    _import_product()
    running: set[int] = set()
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "poll" in order or "wait" in order:
            pid = order.get("poll") or order["wait"]
            ended, status = os.waitpid(pid, os.WNOHANG if "poll" in order else 0)
            running -= {ended}
            answer: Any = os.waitstatus_to_exitcode(status) if ended else None
        else:
            answer = os.fork()
            if not answer:
                _run(order)
            running.add(answer)
        print(json.dumps(answer), flush=True)
    for pid in running:
        os.kill(pid, signal.SIGKILL)


def _import_product() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
    import django

    django.setup()
    from django.urls import get_resolver

    for command in ("backup", "migrate", "restore", "serve"):
        import_module(f"chat.management.commands.{command}")
    import_module("memoryapp.asgi")
    # Imports the views.
    _ = get_resolver().url_patterns


def _install_disk_limit() -> None:
    """Let SIGUSR2 fill the disk, as it seems to new connections of SQLite, or make room again."""
    from django.db.backends.signals import connection_created

    full = False

    def toggle(_number: int, _frame: Any) -> None:
        nonlocal full
        full = not full

    def limit(connection: Any, **_: object) -> None:
        if full and connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                # SQLite takes the size of the file where it is larger.
                cursor.execute("PRAGMA max_page_count = 1")

    signal.signal(signal.SIGUSR2, toggle)
    connection_created.connect(limit, weak=False)


def _run(order: dict[str, Any]) -> None:
    """Run a command of manage.py in this forked process, and end the process with the exit code."""
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(log, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    code = 1
    try:
        if order.get("clock"):
            import time_machine

            time_machine.travel(datetime.fromisoformat(order["clock"]), tick=True).start()
        _install_disk_limit()
        if order.get("step"):
            install_step(**order["step"])
        from django.core.management import execute_from_command_line

        execute_from_command_line(["manage.py", *order["command"]])
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
