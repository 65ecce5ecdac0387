"""Refuses a database of a newer version of this program, before anything reads or writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper

from memoryapp.base.env import BadValue

_MIGRATIONS = Path(__file__).resolve().parent / "migrations"


class NewerDatabase(BadValue):
    """The database has migrations that this version does not know."""


def list_known_migrations() -> set[str]:
    """Return the names of the migrations of this version."""
    return {path.stem for path in _MIGRATIONS.glob("[0-9]*.py")}


def refuse_newer_database(sender: Any, connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Raise NewerDatabase for a new connection to such a database; receives Django's `connection_created`.

    Looked at with every connection: another version may have updated the database meanwhile.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT name FROM django_migrations WHERE app = 'chat' ORDER BY name DESC LIMIT 1")
            row = cursor.fetchone()
    except DatabaseError:
        # There are no tables yet.
        return
    if row is not None and row[0] > max(list_known_migrations()):
        connection.close()
        raise NewerDatabase(
            f"The database is of a newer version of memoryapp ({row[0]}). Nothing was changed. Update this "
            "program, or restore a backup of the older version."
        )
