"""`manage.py chat` as it is run: with a server of its own, and at one that runs already."""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from chat.terminal.reaching import _listens
from tests.page_client import ROOT, serve
from tests.waiting import until
from tests.weights_here import needed

pytestmark = [pytest.mark.slow, pytest.mark.model]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A data folder of its own, and the small real model."""
    needed("smollm2-135m")
    env = {k: v for k, v in os.environ.items() if k not in ("DJANGO_SETTINGS_MODULE", "MODEL_PATH", "MODEL")}
    return env | {"DATA_DIR": str(tmp_path / "data"), "MODEL": "smollm2-135m"}


@pytest.fixture
def chat(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Returns a runner of the command that pipes lines into it."""

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


def rows(environment: dict[str, str], query: str) -> list[Any]:
    with sqlite3.connect(Path(environment["DATA_DIR"]) / "memoryapp.sqlite3", timeout=20) as connection:
        return connection.execute(query).fetchall()


def test_with_nothing_running_it_starts_a_server_and_leaves_nothing_running(chat, environment):
    done = chat("Say hello.\n/remember I live in Oslo\n/memories\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Remembered.\nIdentity\n  I live in Oslo\n")
    assert "\x1b" not in done.stdout
    [(reply,)] = rows(environment, "SELECT content FROM chat_message WHERE role='assistant'")
    assert reply.strip()
    assert reply.strip() in done.stdout
    assert rows(environment, "SELECT count(*) FROM chat_apitoken WHERE revoked_at IS NULL") == [(0,)]
    holder = (Path(environment["DATA_DIR"]) / "engine.lock").read_text()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", holder)
    again = chat("/sessions\n", "--app", "general")
    assert again.returncode == 0
    assert "general" in again.stdout


def test_a_terminal_that_is_killed_takes_its_server_with_it(environment):
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
    until(lambda: not _listens(address), 30)


def test_at_a_running_server_it_is_a_guest(chat, environment):
    for command in (["migrate", "-v0"], ["collectstatic", "--noinput", "-v0"]):
        subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=environment, check=True)
    server, _base = serve(environment, "manage.py", "serve", "--no-browser", "--port")
    try:
        assert chat("/remember I live in Oslo\n").stdout == "Remembered.\n"
        assert server.poll() is None
        refused = chat("Hello\n", "--model", "qwen2.5-coder-0.5b")
        assert refused.returncode == 1
        assert "Leave --model out" in refused.stderr
        for slug in ("nowhere", "?"):
            wrong = chat("Hello\n", "--app", slug)
            assert (wrong.returncode, wrong.stderr) == (1, f"CommandError: There is no app “{slug}”.\n")
        assert rows(environment, "SELECT count(*) FROM chat_message") == [(0,)]
    finally:
        server.kill()
        server.wait(10)
