"""Gives tests a PostgreSQL database of their own, on the server of this run or on one that it starts.

A server's folder is a temporary one; it listens on a Unix socket there.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote, urlsplit, urlunsplit
from uuid import uuid4

import pytest

from memoryapp.bootstrap.programs import TEST_SERVERS, find_postgresql

USER = "memoryapp"
# The URL of a running server on which tests may make databases. `tests/servers.py` sets it.
URL_VARIABLE = "TEST_POSTGRESQL_URL"
# PostgreSQL refuses to run as root; as root, its programs run as the first of these users that exists.
_UNPRIVILEGED_USERS = ("postgres", "nobody")


class PostgresqlUnavailable(Exception):
    """No server can be started on this machine; the message is the reason."""


def skip_without_server(reason: Exception) -> NoReturn:
    """Skip the test for want of a server, or fail it where TEST_SERVERS is "required", as in CI."""
    if os.environ.get(TEST_SERVERS) == "required":
        pytest.fail(f"{TEST_SERVERS} is required, and a server is missing: {reason}")
    pytest.skip(str(reason))


def _choose_user() -> tuple[list[str], pwd.struct_passwd | None]:
    if os.geteuid() != 0:
        return [], None
    if shutil.which("setpriv") is None:
        raise PostgresqlUnavailable("this is root, and there is no setpriv to be somebody else with")
    known = {user.pw_name: user for user in pwd.getpwall()}
    user = next((known[name] for name in _UNPRIVILEGED_USERS if name in known), None)
    if user is None:
        raise PostgresqlUnavailable("this is root, and there is no other user to run PostgreSQL as")
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"], user


class PostgresqlServer:
    """A server in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        programs = find_postgresql()
        if programs is None:
            raise PostgresqlUnavailable("PostgreSQL's server programs are not installed")
        self._folder, self._data, self._programs = folder, folder / "data", programs
        self._prefix, user = _choose_user()
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        self.url = f"postgresql://{USER}@/{USER}?host={quote(str(folder), safe='')}"

    def start(self) -> None:
        """Make an empty database and start the server."""
        locale = ("-E", "UTF8", "--locale=C.UTF-8")
        self._run("initdb", "-D", self._data, "-U", USER, "-A", "trust", *locale, "--no-sync")
        self._control("start")
        self._run("createdb", "-h", self._folder, "-U", USER, USER)

    def restart_at_once(self) -> None:
        """Restart the server as after a crash: it drops all connections and recovers."""
        self._control("restart")

    def stop(self) -> None:
        """Stop the server, if it runs."""
        if (self._data / "postmaster.pid").exists():
            self._control("stop")

    def _control(self, action: str) -> None:
        # Lost data of tests is no loss. Every test process and every server that it starts has a pool.
        flags = (
            f"-c listen_addresses='' -c unix_socket_directories='{self._folder}' -c max_connections=400 "
            "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
        )
        start = [] if action == "stop" else ["-o", flags, "-l", self._folder / "log", "-w"]
        end = [] if action == "start" else ["-m", "immediate"]
        self._run("pg_ctl", "-D", self._data, *start, *end, action)

    def _run(self, program: str, *arguments: Path | str) -> None:
        command = [*self._prefix, str(self._programs / program), *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, cwd=self._folder, timeout=120)


@contextmanager
def run_postgresql_server() -> Iterator[PostgresqlServer]:
    """Start a server with an empty database and yield it; remove it at the end.

    Raises PostgresqlUnavailable.
    """
    folder = Path(tempfile.mkdtemp(prefix="memoryapp-pg-"))
    try:
        server = PostgresqlServer(folder)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def run_postgresql() -> Iterator[str]:
    """Yield the URL of an empty database, which is removed at the end.

    It is on the server of this run of the tests, or on one that is started for it. Raises
    PostgresqlUnavailable.
    """
    if shared := os.environ.get(URL_VARIABLE):
        with make_database(shared) as url:
            yield url
        return
    with run_postgresql_server() as server:
        yield server.url


@contextmanager
def provide_postgresql() -> Iterator[str]:
    """Yield the URL of an empty database for a test, which is skipped or fails without a server."""
    try:
        with run_postgresql() as url:
            yield url
    except PostgresqlUnavailable as reason:
        skip_without_server(reason)


@contextmanager
def make_database(server: str, copied: str | None = None) -> Iterator[str]:
    """Make a database on a running server and yield its URL; remove it at the end.

    It is empty, or a copy of the one with the URL `copied`, which nobody uses meanwhile.
    """
    import psycopg

    name = f"test_{uuid4().hex}"
    template = urlsplit(copied).path.strip("/") if copied else "template0"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
    try:
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)".encode())
