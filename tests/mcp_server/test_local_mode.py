"""MCP in local mode: no token to configure, and a server that stops and restarts."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.data_folder import build_environment, make_data_folder, query_database
from tests.page_client import PageClient, start_server_process

from .mcp_client import start_assistant, start_mcp

pytestmark = pytest.mark.slow
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A migrated data folder of its own, without a model."""
    folder = tmp_path_factory.mktemp("machine") / "data"
    make_data_folder(folder)
    return build_environment(folder, MODEL_DIR=str(folder / "none"))


class Machine:
    """Starts and stops the real server on one data folder."""

    def __init__(self, env: dict[str, str]) -> None:
        self.env, self.folder = env, Path(env["DATA_DIR"])
        self.rows = partial(query_database, self.folder)
        self.process: subprocess.Popen[bytes] | None = None
        self.base = ""

    def start(self, **env: str) -> None:
        """Start the server, on another port each time."""
        self.process, self.base = start_server_process(
            self.env | env, "manage.py", "serve", "--no-browser", "--port"
        )

    def stop(self) -> None:
        """Kill the server, as a crash does: its lock file stays."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None


@pytest.fixture
def machine(environment: dict[str, str]) -> Iterator[Machine]:
    one = Machine(environment)
    yield one
    one.stop()
    one.rows("DELETE FROM chat_apitoken")


def test_no_token_is_needed_and_the_server_is_found_after_a_restart(machine):
    with start_assistant(machine.folder) as one:
        assert "memoryapp is not running" in one.refusal("list_memories")
        assert machine.rows("SELECT count(*) FROM chat_apitoken") == [(0,)]
        machine.start()
        added = one("add_memory", text="I bake sourdough on Sundays.")["memory"]
        assert machine.rows("SELECT name, revoked_at FROM chat_apitoken") == [("MCP", None)]
        assert "MCP" in PageClient(machine.base).get("/settings/")
        machine.stop()
        for tool, arguments in (("list_memories", {}), ("add_memory", {"text": "I like tea."})):
            assert "memoryapp is not running" in one.refusal(tool, **arguments)
        machine.start()
        assert added in one("list_memories")["memories"]
    # Another assistant and a restarted one use the same token.
    with start_assistant(machine.folder, mode="legacy") as another:
        assert another("search_memories", query="sourdough")["memories"][0]["id"] == added["id"]
        assert machine.rows("SELECT count(*) FROM chat_apitoken") == [(1,)]
        # If the token row is deleted, the token is created again.
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


def test_no_token_is_created_for_a_server_with_logins(machine):
    machine.start(MODE="server", ALLOWED_HOSTS="127.0.0.1", SSL_REDIRECT="false")
    with start_assistant(machine.folder) as one:
        assert "asks everybody to log in" in one.refusal("list_memories")
    assert machine.rows("SELECT count(*) FROM chat_apitoken") == [(0,)]


def test_standard_output_has_only_protocol_messages_and_closing_the_input_ends_the_process(machine):
    machine.start()
    process = start_mcp(machine.env)
    guard = threading.Timer(120, process.kill)
    guard.start()

    def send_message(method: str, number: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        process.stdin.write(json.dumps(message | ({"id": number} if number else {})) + "\n")
        process.stdin.flush()

    send_message("initialize", 1, **INITIALIZE)
    answers = [json.loads(process.stdout.readline())]
    send_message("notifications/initialized")
    calls = [("add_memory", {"text": "I like tea."}), ("list_memories", {"limit": 0}), ("nothing", {})]
    for number, (name, arguments) in enumerate(calls, start=2):
        send_message("tools/call", number, name=name, arguments=arguments)
        answers.append(json.loads(process.stdout.readline()))
    process.stdin.write("this is no JSON\n")
    out, err = process.communicate(timeout=60)
    guard.cancel()
    assert process.returncode == 0
    assert [answer["id"] for answer in answers] == [1, 2, 3, 4]
    assert [answer["result"].get("isError", False) for answer in answers] == [False, False, True, True]
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert "tea" not in err
