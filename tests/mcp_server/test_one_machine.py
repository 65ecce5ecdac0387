"""On the machine of its one owner: no token to paste, and a server that goes and comes back."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryapp.env import ROOT
from tests.page_client import Page, serve

from .assistants import COMMAND, assistant

pytestmark = pytest.mark.slow
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A data folder of its own, migrated, and no model."""
    folder = tmp_path_factory.mktemp("machine")
    unwanted = ("DJANGO_SETTINGS_MODULE", "MODEL_PATH", "MODEL", "MODE", "ALLOWED_HOSTS", "DATABASE_URL")
    env = {k: v for k, v in os.environ.items() if k not in unwanted}
    env |= {"DATA_DIR": str(folder), "MODEL_DIR": str(folder / "none")}
    for command in (["migrate", "-v0"], ["collectstatic", "--noinput", "-v0"]):
        subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=env, check=True)
    return env


class Machine:
    """Starts and stops the real server over one data folder."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env, self.folder = env, Path(env["DATA_DIR"])
        self.process: subprocess.Popen[bytes] | None = None
        self.base = ""

    def start(self, **env: str) -> None:
        """Start it, at another port each time."""
        self.process, self.base = serve(self.env | env, "manage.py", "serve", "--no-browser", "--port")

    def stop(self) -> None:
        """End it at once, as a crash does: what it wrote into its lock stays there."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None

    def rows(self, query: str) -> list[Any]:
        """Ask the database as another program."""
        with sqlite3.connect(self.folder / "memoryapp.sqlite3", timeout=20) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture
def machine(environment: dict[str, str]) -> Iterator[Machine]:
    one = Machine(environment)
    yield one
    one.stop()
    one.rows("DELETE FROM chat_apitoken")


def test_it_needs_no_token_and_finds_the_server_wherever_it_is(machine):
    with assistant(machine.folder) as one:
        assert "memoryapp is not running" in one.refusal("list_memories")
        assert machine.rows("SELECT count(*) FROM chat_apitoken") == [(0,)]
        machine.start()
        added = one("add_memory", text="I bake sourdough on Sundays.")["memory"]
        assert machine.rows("SELECT name, revoked_at FROM chat_apitoken") == [("MCP", None)]
        assert "MCP" in Page(machine.base).get("/settings/")
        machine.stop()
        for tool, arguments in (("list_memories", {}), ("add_memory", {"text": "I like tea."})):
            assert "memoryapp is not running" in one.refusal(tool, **arguments)
        machine.start()
        assert added in one("list_memories")["memories"]
    # Another assistant, and the next start, come in with the same token.
    with assistant(machine.folder, mode="legacy") as another:
        assert another("search_memories", query="sourdough")["memories"][0]["id"] == added["id"]
        assert machine.rows("SELECT count(*) FROM chat_apitoken") == [(1,)]
        # Whoever takes everything away may have meant this too: it is made again, and shows again.
        machine.rows("DELETE FROM chat_apitoken")
        assert added in another("list_memories")["memories"]
        assert machine.rows("SELECT count(*) FROM chat_apitoken") == [(1,)]
        machine.rows("UPDATE auth_user SET is_active=0")
        assert "does not accept this token" in another.refusal("list_memories")
        machine.rows("UPDATE auth_user SET is_active=1")
        machine.rows("UPDATE chat_apitoken SET revoked_at='2026-01-01 00:00:00'")
        for _ in range(2):
            assert "The token “MCP” was revoked" in another.refusal("list_memories")
        assert machine.rows("SELECT count(*) FROM chat_apitoken") == [(1,)]


def test_no_token_is_made_for_a_server_that_asks_for_a_login(machine):
    machine.start(MODE="server", ALLOWED_HOSTS="127.0.0.1", SSL_REDIRECT="false")
    with assistant(machine.folder) as one:
        assert "asks everybody to log in" in one.refusal("list_memories")
    assert machine.rows("SELECT count(*) FROM chat_apitoken") == [(0,)]


def test_nothing_but_the_protocol_is_on_standard_output_and_closing_the_input_ends_it(machine):
    machine.start()
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen(COMMAND, cwd=ROOT, env=machine.env, text=True, **pipes)
    guard = threading.Timer(120, process.kill)
    guard.start()

    def say(method: str, number: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        process.stdin.write(json.dumps(message | ({"id": number} if number else {})) + "\n")
        process.stdin.flush()

    say("initialize", 1, **INITIALIZE)
    answers = [json.loads(process.stdout.readline())]
    say("notifications/initialized")
    calls = [("add_memory", {"text": "I like tea."}), ("list_memories", {"limit": 0}), ("nothing", {})]
    for number, (name, arguments) in enumerate(calls, start=2):
        say("tools/call", number, name=name, arguments=arguments)
        answers.append(json.loads(process.stdout.readline()))
    process.stdin.write("this is no JSON\n")
    out, err = process.communicate(timeout=60)
    guard.cancel()
    assert process.returncode == 0
    assert [answer["id"] for answer in answers] == [1, 2, 3, 4]
    assert [answer["result"].get("isError", False) for answer in answers] == [False, False, True, True]
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert "tea" not in err
