"""`manage.py run_jobs`: background work apart from the server, by one process a machine, each job once."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.page_client import ROOT, serve
from tests.waiting import until
from tests.weights_here import needed

pytestmark = pytest.mark.slow
SEED = """
from chat.actions import messages, deletions, facts, owners
owner = owners.local_owner()
deletions.forget(owner, [facts.add_fact(owner, "User likes tea").pk])
asked, reply = messages.send_message(owner, "I live in Oslo.")
messages.finish_reply(reply, "Nice.", "complete")
from chat.models import Job, Deletion
from django.utils import timezone
from datetime import timedelta
past = timezone.now() - timedelta(minutes=1)
Deletion.objects.update(pressed_at=past, expires_at=past)
Job.objects.update(run_after=past)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A data folder of its own in which work is due, and no model."""
    env = {k: v for k, v in os.environ.items() if k not in ("DJANGO_SETTINGS_MODULE", "MODEL_PATH", "MODEL")}
    env |= {"DATA_DIR": str(tmp_path / "data"), "MODEL_DIR": str(tmp_path / "none")}
    for command in (["migrate", "-v0"], ["collectstatic", "--noinput", "-v0"], ["shell", "-c", SEED]):
        subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=env, check=True)
    return env


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a runner; whatever still runs at the end is killed."""
    running = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "manage.py", "run_jobs", *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process: subprocess.Popen[str] = subprocess.Popen(command, cwd=ROOT, env=environment, **pipes)
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def rows(environment: dict[str, str]) -> Callable[[str], list[Any]]:
    """Returns a reader of the database, as another program."""

    def read(query: str) -> list[Any]:
        path = Path(environment["DATA_DIR"]) / "memoryapp.sqlite3"
        with sqlite3.connect(path, timeout=20) as connection:
            return connection.execute(query).fetchall()

    return read


def end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=280)
    return process.returncode, out, err


def kinds(rows: Any) -> set[str]:
    return {kind for (kind,) in rows("SELECT kind FROM chat_job WHERE run_after <= datetime('now')")}


def test_once_does_what_is_due_and_ends_and_what_needs_the_model_waits_for_it(start, rows):
    code, out, err = end(start("--once"))
    assert code == 0
    assert "jobs done." in out
    assert "weights fetch" in err
    assert rows("SELECT state FROM chat_deletion") == [("done",)]
    assert kinds(rows) <= {"extract", "title"}
    assert rows("SELECT extracted_through FROM chat_conversation") == [(0,)]
    assert {k for (k,) in rows("SELECT kind FROM chat_job")} >= {"nightly", "sweep_graph", "extract"}


def test_without_once_it_goes_on_until_it_is_told_to_end(start, rows):
    runner = start()
    until(lambda: rows("SELECT 1 FROM chat_deletion WHERE state='done'"), seconds=60)
    due = "SELECT 1 FROM chat_job WHERE kind='sweep_graph' AND run_after <= datetime('now')"
    until(lambda: not rows(due), seconds=30)
    rows("UPDATE chat_job SET run_after='2026-01-01 00:00:00' WHERE kind='sweep_graph'")
    until(lambda: not rows(due), seconds=30)
    assert runner.poll() is None
    runner.send_signal(signal.SIGTERM)
    code, out, _ = end(runner)
    assert code == 0
    assert "goes on the next time" in out


def test_a_second_runner_is_refused_and_told_of_the_first(start, rows):
    first = start()
    until(lambda: rows("SELECT 1 FROM chat_deletion WHERE state='done'"), seconds=60)
    for second in (start(), start("--once")):
        code, _, err = end(second)
        assert code == 1
        assert f"memoryapp is running already (run_jobs, process {first.pid})" in err


def test_beside_a_server_there_is_nothing_to_do_and_it_says_so(start, environment):
    server, base = serve(environment, "manage.py", "serve", "--no-browser", "--port")
    try:
        code, out, _ = end(start("--once"))
        assert (code, out) == (0, f"memoryapp is running at {base}/ and does its background work itself.\n")
        code, _, err = end(start())
        assert code == 1
        assert f"running at {base}/" in err
        assert "Stop it first" in err
    finally:
        server.kill()
        server.wait(10)


@pytest.mark.model
def test_with_a_model_it_reads_what_waits(start, rows, environment):
    needed("smollm2-135m")
    del environment["MODEL_DIR"]
    environment |= {"MODEL": "smollm2-135m"}
    if "MODEL_DIR" in os.environ:
        environment["MODEL_DIR"] = os.environ["MODEL_DIR"]
    code, _, err = end(start("--once"))
    assert (code, err) == (0, "")
    assert rows("SELECT extracted_through FROM chat_conversation") == [(1,)]
    assert rows("SELECT count(*) FROM chat_energy WHERE level < 180") == [(1,)]
    assert kinds(rows) == set()
