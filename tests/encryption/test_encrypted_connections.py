"""The encrypted database behaves in Django as SQLite does."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.db import IntegrityError, OperationalError, connections
from django.db.utils import DatabaseError

from memoryapp.base import encryption
from memoryapp.base.encryption import Keys
from memoryapp.base.env import BadValue
from memoryapp.base.passphrase import UNFINISHED
from memoryapp.encrypted_sqlite.base import DatabaseWrapper

KEYS = Keys("", "ab" * 32, "")
TABLE = "CREATE TABLE t (n integer PRIMARY KEY, d datetime, e date, f bool, g decimal, h text)"


@pytest.fixture
def connection(tmp_path, monkeypatch, django_db_blocker):
    """A connection to a new encrypted database."""
    monkeypatch.setattr(encryption, "_keys", KEYS)
    made = DatabaseWrapper({**connections["default"].settings_dict, "NAME": tmp_path / "e.sqlite3"}, "other")
    made.settings_dict["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 1,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA secure_delete=ON;",
    }
    made.inc_thread_sharing()
    with django_db_blocker.unblock():
        with made.cursor() as cursor:
            cursor.execute(TABLE)
        yield made
        made.close()


def test_values_come_back_as_they_were_stored(connection):
    row = (1, datetime(2026, 1, 2, 3, 4, 5, 6), date(2026, 1, 2), True, Decimal("1.5"), "ä\u0000b 🐦")
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (%s, %s, %s, %s, %s, %s)", row)
        cursor.execute("SELECT n, d, e, f, g, h FROM t WHERE n = %(key)s", {"key": 1})
        n, d, e, f, g, h = cursor.fetchone()
    assert (n, d, e, f, Decimal(str(g)), h) == row


def test_many_rows_are_inserted_with_each_kind_of_placeholder(connection):
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t (n, h) VALUES (%s, %s)", [(1, "a"), (2, "b%")])
        cursor.executemany("INSERT INTO t (n, h) VALUES (%(n)s, %(h)s)", [{"n": 3, "h": "c"}])
        cursor.execute("SELECT h FROM t WHERE h LIKE 'b%%' OR n > %s ORDER BY n", [2])
        assert cursor.fetchall() == [("b%",), ("c",)]


def test_functions_of_django_are_there(connection):
    with connection.cursor() as cursor:
        cursor.execute("SELECT django_date_trunc('month', %s, NULL, NULL), 'abc' REGEXP '^a'", ["2026-03-09"])
        assert cursor.fetchone() == ("2026-03-01", 1)


def test_errors_are_those_of_django(connection):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO t (n) VALUES (1)")
        with pytest.raises(IntegrityError):
            cursor.execute("INSERT INTO t (n) VALUES (1)")
        with pytest.raises(OperationalError):
            cursor.execute("SELECT nothing FROM t")


def test_a_transaction_that_is_rolled_back_leaves_nothing(connection):
    connection._start_transaction_under_autocommit()
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO t (n) VALUES (5)")
        connection.connection.rollback()
        cursor.execute("SELECT count(*) FROM t")
        assert cursor.fetchone() == (0,)


def test_another_key_opens_nothing(connection, monkeypatch):
    connection.close()
    monkeypatch.setattr(encryption, "_keys", Keys("", "cd" * 32, ""))
    with pytest.raises(DatabaseError, match="not a database"):
        connection.ensure_connection()


def test_neither_the_file_nor_its_log_contains_the_text(connection, tmp_path):
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO t (n, h) VALUES (9, 'Zebrafinch')")
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert len(written) > 8192
    assert b"Zebrafinch" not in written


def test_a_plain_database_is_not_used_where_there_are_keys(connection, tmp_path):
    connection.close()
    connection.settings_dict["NAME"] = tmp_path / "plain.sqlite3"
    (tmp_path / "plain.sqlite3").write_bytes(b"SQLite format 3\0" + bytes(100))
    with pytest.raises(BadValue, match="broken off") as told:
        connection.ensure_connection()
    assert str(told.value) == UNFINISHED


def test_dates_with_zones_are_compared_as_django_stores_them(connection):
    when = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO t (n, d) VALUES (1, %s)", [connection.ops.adapt_datetimefield_value(when)]
        )
        cursor.execute("SELECT count(*) FROM t WHERE d < %s", ["2026-01-03"])
        assert cursor.fetchone() == (1,)
