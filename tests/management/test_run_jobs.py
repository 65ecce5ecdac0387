"""`manage.py run_jobs`: background work without the server, by one process per machine, each job once."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.data_folder import build_environment, make_data_folder, query_database
from tests.llm.remote.fake_server import MODELS, chat_endpoint, run_fake_server
from tests.page_client import ROOT, start_server_process
from tests.waiting import wait_until

pytestmark = pytest.mark.slow
SETUP = """
from chat.actions import messages, deletions, facts, owners
owner = owners.local_owner()
deletions.forget_facts(owner, [facts.add_fact(owner, "User likes tea").pk])
asked, reply = messages.send_message(owner, "I live in Oslo.")
messages.finish_reply(reply, "Nice.", "complete")
from chat.models import Job, Deletion
from django.utils import timezone
from datetime import timedelta
past = timezone.now() - timedelta(minutes=1)
Deletion.objects.update(pressed_at=past, expires_at=past)
Job.objects.update(run_after=past)
"""


@pytest.fixture(scope="module")
def folder_with_due_jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that tests copy."""
    folder = tmp_path_factory.mktemp("due") / "data"
    make_data_folder(folder)
    command = [sys.executable, "manage.py", "shell", "-c", SETUP]
    subprocess.run(command, cwd=ROOT, env=build_environment(folder), check=True)
    return folder


@pytest.fixture
def environment(folder_with_due_jobs: Path, tmp_path: Path) -> dict[str, str]:
    """A data folder of its own with due jobs and no model."""
    shutil.copytree(folder_with_due_jobs, tmp_path / "data")
    return build_environment(tmp_path / "data", MODEL_DIR=str(tmp_path / "none"))


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts a job runner; runners still alive at the end are killed."""
    running = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "manage.py", "run_jobs", *arguments]
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        running.append(process)
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def rows(environment: dict[str, str]) -> Callable[[str], list[Any]]:
    """Return a function that queries the database as another program."""
    return partial(query_database, Path(environment["DATA_DIR"]))


def wait_for_end(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=280)
    return process.returncode, out, err


def due_kinds(rows: Any) -> set[str]:
    return {kind for (kind,) in rows("SELECT kind FROM chat_job WHERE run_after <= datetime('now')")}


def test_once_runs_due_jobs_and_ends_and_jobs_that_need_the_model_wait(start, rows):
    code, out, err = wait_for_end(start("--once"))
    assert code == 0
    assert "jobs done." in out
    assert "weights fetch" in err
    assert rows("SELECT state FROM chat_deletion") == [("done",)]
    assert due_kinds(rows) <= {"extract", "title"}
    assert rows("SELECT extracted_through FROM chat_conversation") == [(0,)]
    assert {k for (k,) in rows("SELECT kind FROM chat_job")} >= {"nightly", "sweep_graph", "extract"}


def test_without_once_it_runs_until_it_is_terminated(start, rows):
    runner = start()
    wait_until(lambda: rows("SELECT 1 FROM chat_deletion WHERE state='done'"), seconds=60)
    due = "SELECT 1 FROM chat_job WHERE kind='sweep_graph' AND run_after <= datetime('now')"
    wait_until(lambda: not rows(due), seconds=30)
    rows("UPDATE chat_job SET run_after='2026-01-01 00:00:00' WHERE kind='sweep_graph'")
    wait_until(lambda: not rows(due), seconds=30)
    assert runner.poll() is None
    runner.send_signal(signal.SIGTERM)
    code, out, _ = wait_for_end(runner)
    assert code == 0
    assert "continue the next time" in out


def test_a_second_runner_is_refused_and_told_the_first_process(start, rows):
    first = start()
    wait_until(lambda: rows("SELECT 1 FROM chat_deletion WHERE state='done'"), seconds=60)
    for second in (start(), start("--once")):
        code, _, err = wait_for_end(second)
        assert code == 1
        assert f"memoryapp is running already (run_jobs, process {first.pid})" in err


def test_beside_a_running_server_it_does_nothing_and_says_so(start, environment):
    server, base = start_server_process(environment, "manage.py", "serve", "--no-browser", "--port")
    try:
        code, out, _ = wait_for_end(start("--once"))
        assert (code, out) == (0, f"memoryapp is running at {base}/ and does its background work itself.\n")
        code, _, err = wait_for_end(start())
        assert code == 1
        assert f"running at {base}/" in err
        assert "Stop it first" in err
    finally:
        server.kill()
        server.wait(10)


def test_with_a_model_it_extracts_waiting_messages(start, rows, environment):
    note = chat_endpoint("home: User lives in Oslo")
    with run_fake_server(v1__models=MODELS, v1__chat__completions=note) as server:
        environment["PROVIDER_URL"] = server.url
        code, _, err = wait_for_end(start("--once"))
    assert (code, err) == (0, "")
    assert rows("SELECT extracted_through FROM chat_conversation") == [(1,)]
    assert rows("SELECT text FROM chat_fact") == [("User lives in Oslo",)]
    assert rows("SELECT count(*) FROM chat_energy WHERE level < 180") == [(1,)]
    assert due_kinds(rows) == set()
