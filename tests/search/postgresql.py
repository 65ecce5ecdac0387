"""Runs a PostgreSQL server for tests in a temporary folder, listening on a Unix socket there."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
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


@contextmanager
def run_postgresql() -> Iterator[str]:
    """Start a server with an empty database and yield its URL; remove it at the end.

    Raises PostgresqlUnavailable.
    """
    folder = Path(tempfile.mkdtemp(prefix="memoryapp-pg-"))
    try:
        prefix, user = _choose_user()
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        data, bin_ = folder / "data", find_programs()

        def run(program: str, *arguments: Sequence[str] | str) -> None:
            command = [*prefix, str(bin_ / program), *map(str, arguments)]
            subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=120)

        run("initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        flags = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
        run("pg_ctl", "-D", data, "-o", flags, "-l", folder / "log", "-w", "start")
        try:
            run("createdb", "-h", folder, "-U", USER, USER)
            yield f"postgresql://{USER}@/{USER}?host={quote(str(folder), safe='')}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
