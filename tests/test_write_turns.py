"""The connections of a process take turns to write to SQLite; reading needs no turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connections

from memoryapp.base import encryption
from memoryapp.base.encryption import Keys
from memoryapp.encrypted_sqlite.base import DatabaseWrapper as Encrypted
from memoryapp.sqlite.base import DatabaseWrapper as Plain

COUNT = "SELECT count(*) FROM t"


class Database:
    """A database of its own, and connections to it that any thread may use."""

    def __init__(self, kind: type[Any], path: Path) -> None:
        self._kind, self._path, self._opened = kind, path, list[Any]()
        self.run(self.connect(), "CREATE TABLE t (n integer)")

    def connect(self, timeout: float = 10.0) -> Any:
        settings = connections["default"].settings_dict
        options = {
            "transaction_mode": "IMMEDIATE",
            "timeout": timeout,
            "init_command": "PRAGMA journal_mode=WAL",
        }
        made = self._kind({**settings, "NAME": self._path, "OPTIONS": options}, "other")
        made.inc_thread_sharing()
        self._opened.append(made)
        return made

    def run(self, connection: Any, statement: str) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def begin(self, connection: Any) -> None:
        connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)

    def end(self, connection: Any, *, keep: bool = True) -> None:
        connection.commit() if keep else connection.rollback()
        connection.set_autocommit(True)

    def close(self) -> None:
        for connection in self._opened:
            connection.close()


@pytest.fixture(params=[Plain, Encrypted], ids=["plain", "encrypted"])
def database(request, tmp_path, monkeypatch, django_db_blocker) -> Iterator[Database]:
    monkeypatch.setattr(encryption, "_keys", Keys("", "ab" * 32, ""))
    with django_db_blocker.unblock():
        made = Database(request.param, tmp_path / "turns.sqlite3")
        yield made
        made.close()


@pytest.mark.parametrize("keep", [True, False], ids=["commit", "rollback"])
def test_a_write_waits_for_the_end_of_a_transaction_and_a_read_does_not(database, keep):
    one, other, reader = (database.connect() for _ in range(3))
    database.begin(one)
    database.run(one, "INSERT INTO t VALUES (1)")
    written = threading.Event()

    def write() -> None:
        database.run(other, "INSERT INTO t VALUES (2)")
        written.set()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        assert not written.wait(0.3)
        assert database.run(reader, COUNT) == [(0,)]
        database.end(one, keep=keep)
        writing.result(10)
    assert database.run(reader, COUNT) == [(1 + keep,)]


def test_many_threads_write_and_nothing_is_lost(database):
    def write(number: int) -> None:
        connection = database.connect()
        for _ in range(10):
            if number % 2:
                database.run(connection, "INSERT INTO t VALUES (1)")
                continue
            database.begin(connection)
            database.run(connection, "INSERT INTO t VALUES (1)")
            database.end(connection)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(16)))
    assert database.run(database.connect(), COUNT) == [(160,)]


def test_who_waits_too_long_is_told_that_the_database_is_locked(database):
    one, other = database.connect(), database.connect(timeout=0.1)
    database.begin(one)
    for write in (lambda: database.begin(other), lambda: database.run(other, "DELETE FROM t")):
        with pytest.raises(OperationalError, match="database is locked"):
            write()
    database.end(one)
    assert database.run(database.connect(), "INSERT INTO t VALUES (1)") == []


def test_a_connection_that_is_closed_in_a_transaction_gives_its_turn_back(database):
    one = database.connect()
    database.begin(one)
    one.close()
    database.run(database.connect(timeout=0.1), "INSERT INTO t VALUES (1)")


def test_a_statement_that_fails_gives_the_turn_back(database):
    with pytest.raises(Exception, match="no such table"):
        database.run(database.connect(), "INSERT INTO missing VALUES (1)")
    database.run(database.connect(timeout=0.1), "INSERT INTO t VALUES (1)")


def test_two_databases_have_turns_of_their_own(database, tmp_path):
    other = Database(Plain, tmp_path / "another.sqlite3")
    one = database.connect()
    database.begin(one)
    other.run(other.connect(timeout=0.1), "INSERT INTO t VALUES (1)")
    database.end(one)
    other.close()
