"""What a user can fix is reported as one line on standard error, by every command."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import DatabaseError, IntegrityError, OperationalError, ProgrammingError

from memoryapp.base.env import ROOT, BadValue
from memoryapp.base.error_text import explain_error, explain_port_error

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def _clean() -> dict[str, str]:
    unwanted = ("DJANGO_SETTINGS_MODULE", "MODEL_PATH", "MODEL", "MODE", "ALLOWED_HOSTS", "DATABASE_URL")
    return {k: v for k, v in os.environ.items() if k not in unwanted}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a command with an empty data folder and this environment."""

    def begin(*arguments: str, stdout: int = subprocess.PIPE, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={**_clean(), "DATA_DIR": str(tmp_path / "data"), **env},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    return begin


def error_line(ended: subprocess.CompletedProcess[str]) -> str:
    """Return the only line of the error output of a failed command."""
    [line] = ended.stderr.splitlines()
    assert ended.returncode == 1
    return line


@pytest.mark.parametrize(
    "command",
    [
        ["serve", "--no-browser"],
        ["chat"],
        ["doctor"],
        ["weights", "list"],
        ["decay"],
        ["backup"],
        ["export_memory"],
    ],
    ids=lambda command: command[0],
)
def test_the_data_folder_is_a_file(run: Run, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "data").write_text("")
    assert "data is a file." in error_line(run(*command))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WINDOW", "wide"),
        ("TIME_ZONE", "Mars"),
        ("LOG_LEVEL", "loud"),
        ("MODE", "Server"),
        ("DEBUG", "maybe"),
    ],
)
def test_a_variable_has_an_invalid_value(run: Run, name: str, value: str) -> None:
    said = error_line(run("decay", **{name: value}))
    assert said.startswith(f"{name} must be ")
    assert repr(value) in said


@pytest.mark.parametrize(
    "command", [["decay"], ["export_memory"], ["import_memory", "pyproject.toml"], ["run_jobs", "--once"]]
)
def test_the_database_has_no_tables(run: Run, command: list[str]) -> None:
    assert "Run this once: python3 manage.py start" in error_line(run(*command))


def test_the_port_is_out_of_range(run: Run) -> None:
    assert "--port 70000 is no port" in error_line(run("serve", "--no-browser", "--port", "70000"))


def test_a_closed_output_pipe_is_no_error(run: Run) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    ended = run("weights", "list", stdout=writes)
    os.close(writes)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_a_closed_standard_output_writes_into_no_other_file(run: Run, tmp_path: Path) -> None:
    shell = f"exec '{sys.executable}' manage.py weights list >&- 2>&-"
    env = _clean() | {"DATA_DIR": str(tmp_path / "data")}
    ended = subprocess.run(["sh", "-c", shell], cwd=ROOT, env=env, timeout=60, check=False)
    assert ended.returncode == 0
    assert not any("smollm" in path.read_text() for path in (tmp_path / "data").iterdir() if path.is_file())


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (BadValue("WINDOW must be a whole number."), "WINDOW must be a whole number."),
        (OSError(errno.ENOSPC, "No space left on device"), "The disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "/opt/x"), "/opt/x may not be used"),
        (OSError(errno.EROFS, "Read-only file system", "/opt/x"), "/opt/x may not be used"),
        (OperationalError("no such table: chat_fact"), "python3 manage.py start"),
        (ProgrammingError('relation "chat_fact" does not exist'), "python3 manage.py start"),
        (OperationalError("unable to open database file"), "cannot be opened"),
        (OperationalError("attempt to write a readonly database"), "cannot be written to"),
        (OperationalError("database is locked"), "Another program"),
        (DatabaseError("database disk image is malformed"), "damaged"),
        (DatabaseError("file is not a database"), "damaged"),
        (OperationalError("connection failed:\n refused"), "cannot be used: connection failed: refused"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_an_error_that_a_user_can_fix_is_explained_in_one_line(error: Exception, says: str) -> None:
    assert says in explain_error(error)
    assert "\n" not in explain_error(error)


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyError("x"), OSError(), IntegrityError("UNIQUE")], ids=repr
)
def test_an_unexpected_error_keeps_its_traceback(error: Exception) -> None:
    assert explain_error(error) == ""


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.EADDRINUSE, "in use"), "--port 8000"),
        (PermissionError(errno.EACCES, "Permission denied"), "administrator"),
        (OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address"), "cannot be listened on: Cannot"),
    ],
    ids=["taken", "a low one", "not ours"],
)
def test_the_port_cannot_be_used(error: OSError, says: str) -> None:
    assert says in explain_port_error("127.0.0.1", 65535, error)
