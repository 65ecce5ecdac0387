"""Starts PostgreSQL once for a run of several test processes, and hands it on by a variable.

A single process starts no server here: `tests/search/postgresql.py` starts one where a test asks for it.
Redis starts in an instant, so each process has its own (`tests/redis_server.py`).
"""

from __future__ import annotations

import os
from contextlib import ExitStack

import pytest

from memoryapp.bootstrap.programs import TEST_SERVERS
from tests.search.postgresql import URL_VARIABLE, PostgresqlUnavailable, run_postgresql_server

_servers = pytest.StashKey[ExitStack]()


def start_servers(config: pytest.Config) -> None:
    """Start the server and set its variable, where this process hands its tests to others.

    A server that cannot be started fails the run where TEST_SERVERS is "required"; otherwise the tests that
    need it skip with the reason.
    """
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        return
    stack = config.stash[_servers] = ExitStack()
    if os.environ.get(URL_VARIABLE):
        return
    try:
        os.environ[URL_VARIABLE] = stack.enter_context(run_postgresql_server()).url
    except PostgresqlUnavailable as reason:
        if os.environ.get(TEST_SERVERS) == "required":
            raise pytest.UsageError(f"{TEST_SERVERS} is required: {reason}") from reason


def stop_servers(config: pytest.Config) -> None:
    """Stop what `start_servers` has started."""
    if (stack := config.stash.get(_servers, None)) is not None:
        stack.close()
