"""`manage.py chat` as a process: with a server that it starts itself, and with a running one."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from chat.terminal.connect import _accepts_connections
from tests.data_folder import build_environment, make_data_folder, query_database
from tests.page_client import ROOT, start_server_process
from tests.small_model import use_small_model
from tests.waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A data folder of its own, without a model."""
    return build_environment(tmp_path / "data", MODEL_DIR=str(tmp_path / "none"))


@pytest.fixture
def with_small_model(environment: dict[str, str]) -> None:
    """Let servers load the small real model."""
    use_small_model(environment)


@pytest.fixture
def chat(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs the command with these lines as input."""

    def run(lines: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", "chat", *arguments],
            cwd=ROOT,
            env=environment,
            input=lines,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )

    return run


@pytest.fixture
def rows(environment: dict[str, str]) -> Callable[[str], list[Any]]:
    """Return a function that queries the database as another program."""
    return partial(query_database, Path(environment["DATA_DIR"]))


@pytest.mark.model
@pytest.mark.usefixtures("with_small_model")
def test_without_a_running_server_it_starts_one_and_ends_it(chat, environment, rows):
    done = chat("Say hello.\n/remember I live in Oslo\n/memories\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Remembered.\nIdentity\n  I live in Oslo\n")
    assert "\x1b" not in done.stdout
    [(reply,)] = query_database(
        Path(environment["DATA_DIR"]), "SELECT content FROM chat_message WHERE role='assistant'"
    )
    assert reply.strip()
    assert reply.strip() in done.stdout
    assert query_database(
        Path(environment["DATA_DIR"]), "SELECT count(*) FROM chat_apitoken WHERE revoked_at IS NULL"
    ) == [(0,)]
    holder = (Path(environment["DATA_DIR"]) / "engine.lock").read_text()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", holder)
    # Without loading the model a second time.
    environment["MODEL_DIR"] = environment["DATA_DIR"]
    again = chat("/sessions\n", "--app", "general")
    assert again.returncode == 0
    assert "general" in again.stdout


def test_a_killed_terminal_ends_its_server(environment):
    command = [sys.executable, "manage.py", "chat"]
    terminal = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert terminal.stdin is not None
        assert terminal.stdout is not None
        terminal.stdin.write("/help\n")
        terminal.stdin.flush()
        assert terminal.stdout.readline()
        address = (Path(environment["DATA_DIR"]) / "engine.lock").read_text()
        there = urlsplit(address)
        socket.create_connection((there.hostname, there.port), timeout=5).close()
    finally:
        terminal.kill()
        terminal.communicate(timeout=10)
    wait_until(lambda: not _accepts_connections(address), 30)


def test_a_running_server_is_used_and_not_stopped(chat, environment, rows):
    make_data_folder(Path(environment["DATA_DIR"]))
    server, _base = start_server_process(environment, "manage.py", "serve", "--no-browser", "--port")
    try:
        assert chat("/remember I live in Oslo\n").stdout == "Remembered.\n"
        assert server.poll() is None
        refused = chat("Hello\n", "--model", "qwen2.5-coder-0.5b")
        assert refused.returncode == 1
        assert "Leave --model out" in refused.stderr
        for slug in ("nowhere", "?"):
            wrong = chat("Hello\n", "--app", slug)
            assert (wrong.returncode, wrong.stderr) == (1, f"CommandError: There is no app “{slug}”.\n")
        assert rows("SELECT count(*) FROM chat_message") == [(0,)]
    finally:
        server.kill()
        server.wait(10)
