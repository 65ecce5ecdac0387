"""Starts PostgreSQL and Redis once for a run of several test processes, and hands them on by variables.

A single process starts no server here: `tests/search/postgresql.py` starts one where a test asks for it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from memoryapp.bootstrap.programs import TEST_SERVERS
from tests.page_client import free_port
from tests.search.postgresql import URL_VARIABLE, PostgresqlUnavailable, run_postgresql_server

# The URL of a running Redis; each test uses keys with a prefix of its own.
REDIS_VARIABLE = "TEST_REDIS_URL"
_START_SECONDS = 20.0
_servers = pytest.StashKey[ExitStack]()


class RedisUnavailable(Exception):
    """No Redis can be started on this machine; the message is the reason."""


def start_servers(config: pytest.Config) -> None:
    """Start both servers and set their variables, where this process hands its tests to others.

    A server that cannot be started fails the run where TEST_SERVERS is "required"; otherwise the tests that
    need it skip with the reason.
    """
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        return
    stack = config.stash[_servers] = ExitStack()
    for variable, run in ((URL_VARIABLE, _run_postgresql_url), (REDIS_VARIABLE, run_redis)):
        if os.environ.get(variable):
            continue
        try:
            os.environ[variable] = stack.enter_context(run())
        except (PostgresqlUnavailable, RedisUnavailable) as reason:
            if os.environ.get(TEST_SERVERS) == "required":
                raise pytest.UsageError(f"{TEST_SERVERS} is required: {reason}") from reason


def stop_servers(config: pytest.Config) -> None:
    """Stop what `start_servers` has started."""
    if (stack := config.stash.get(_servers, None)) is not None:
        stack.close()


@contextmanager
def _run_postgresql_url() -> Iterator[str]:
    with run_postgresql_server() as server:
        yield server.url


@contextmanager
def run_redis() -> Iterator[str]:
    """Run a Redis on loopback that keeps nothing, and yield its URL. Raises RedisUnavailable."""
    program = shutil.which("redis-server")
    if program is None:
        raise RedisUnavailable("redis-server is not installed")
    folder = Path(tempfile.mkdtemp(prefix="memoryapp-redis-"))
    port = free_port()
    options = [
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        str(folder),
        "--save",
        "",
        "--appendonly",
        "no",
    ]
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for_port(process, port)
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=_START_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for_port(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a server answers. Raises RedisUnavailable where it ends or stays silent."""
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RedisUnavailable("redis-server does not start")
