"""Scripts without any setup, several at once on the same data, and a locked database."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import OperationalError, connection, transaction

from chat.api import DatabaseLocked, MemoryManager, Message
from chat.api import manager as manager_module
from memoryapp.base.env import ROOT

WRITER = """
import sys
from chat.api import MemoryManager, Message

manager = MemoryManager(sys.argv[1])
for i in range(int(sys.argv[3])):
    manager.save_message("shared", Message(role="user", content=f"{sys.argv[2]} {i}"))
print(manager.session_id("shared"))
"""
READER = """
import sys
from chat.api import MemoryManager

manager = MemoryManager(sys.argv[1])
for message in manager.load_session("shared"):
    print(message.content)
"""


def start_script(text: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a Python process that only knows where the program is."""
    hidden = ("DATA_DIR", "DJANGO_SETTINGS_MODULE")
    env = {k: v for k, v in os.environ.items() if k not in hidden} | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    return out.splitlines()


def test_two_processes_write_to_one_new_database(tmp_path: Path):
    folder = tmp_path / "memory"
    writers = [start_script(WRITER, folder, name, 30) for name in ("one", "two")]
    ids = {line for writer in writers for line in output(writer)}
    assert len(ids) == 1, "the same name means the same session in both"
    lines = output(start_script(READER, folder))
    for name in ("one", "two"):
        assert [line for line in lines if line.startswith(name)] == [f"{name} {i}" for i in range(30)]
    assert len(lines) == 60
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not (folder / "engine.lock").exists(), "no engine was started"


@pytest.fixture
def short_timeouts(monkeypatch, transactional_db):
    """Short lock timeouts, so that only the retries of the program wait."""
    monkeypatch.setattr(manager_module, "PAUSES_SECONDS", (0.01, 0.01))
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout = 1")
    yield
    connection.close()


@pytest.fixture
def other_connection(transactional_db):
    """A second connection to the same database file."""
    held = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    yield held
    held.close()


def test_a_database_that_stays_locked_is_reported_and_nothing_changes(short_timeouts, other_connection):
    manager = MemoryManager()
    session = manager.create_session()
    other_connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseLocked, match="Another program"):
        manager.save_message(session, Message(role="user", content="Hello"))
    assert manager.load_session(session) == [], "reading goes on meanwhile"
    other_connection.execute("ROLLBACK")
    manager.save_message(session, Message(role="user", content="Hello"))
    assert len(manager.load_session(session)) == 1


def test_a_short_lock_is_waited_for(short_timeouts, other_connection, monkeypatch):
    manager = MemoryManager()
    session = manager.create_session()
    other_connection.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(manager_module.time, "sleep", lambda _: other_connection.execute("ROLLBACK"))
    manager.save_message(session, Message(role="user", content="Hello"))
    assert len(manager.load_session(session)) == 1


def test_inside_a_transaction_of_the_caller_nothing_is_retried(transactional_db):
    calls = []

    def locked() -> None:
        calls.append(1)
        raise OperationalError("database is locked")

    with pytest.raises(OperationalError), transaction.atomic():
        manager_module.retry_while_locked(locked)
    assert len(calls) == 1
