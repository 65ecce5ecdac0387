"""Runs a PostgreSQL server for tests in a temporary folder, listening on a Unix socket there."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

USER = "memoryapp"
# PostgreSQL refuses to run as root; as root, its programs run as the first of these users that exists.
_UNPRIVILEGED_USERS = ("postgres", "nobody")


class PostgresqlUnavailable(Exception):
    """No server can be started on this machine; the message is the reason."""


def find_programs() -> Path:
    """Return the folder of the newest installed server programs. Raises PostgresqlUnavailable."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        raise PostgresqlUnavailable("PostgreSQL's server programs are not installed")
    return folders[-1]


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
        self._folder, self._data, self._programs = folder, folder / "data", find_programs()
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
        flags = f"-c listen_addresses='' -c unix_socket_directories='{self._folder}' -c fsync=off"
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
    """Start a server as `run_postgresql_server` does, and yield its URL."""
    with run_postgresql_server() as server:
        yield server.url
