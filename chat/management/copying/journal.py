"""What a move has done so far, in a table of the new database, changed in the transactions that copy rows.

While the table is there the move is unfinished, and no process uses that database (`require_same_secret`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from chat.actions.installation import UNFINISHED_MOVE as TABLE

from .rows import Total

_READ = f"SELECT value FROM {TABLE} WHERE name = %s"  # noqa: S608
_WRITE = f"INSERT INTO {TABLE} VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"  # noqa: S608


@dataclass(slots=True)
class Progress:
    """How much of a table was copied: the last key as text, and the total of the rows up to it."""

    last: str = ""
    total: Total = field(default_factory=Total)


class Journal:
    """The entries of one move."""

    def __init__(self, target: BaseDatabaseWrapper) -> None:
        self._target = target

    def exists(self) -> bool:
        """Return whether a move into this database is unfinished."""
        return TABLE in self._target.introspection.table_names()

    def create(self) -> None:
        """Begin a move; in the caller's transaction."""
        with self._target.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {TABLE} (name varchar(200) PRIMARY KEY, value text NOT NULL)")

    def drop(self) -> None:
        """End the move; in the caller's transaction."""
        with self._target.cursor() as cursor:
            cursor.execute(f"DROP TABLE {TABLE}")

    def read(self, name: str) -> Any:
        """Return what was written under a name, None for nothing."""
        with self._target.cursor() as cursor:
            cursor.execute(_READ, [name])
            found = cursor.fetchone()
        return None if found is None else json.loads(found[0])

    def write(self, name: str, value: Any) -> None:
        """Write a value under a name; in the caller's transaction."""
        with self._target.cursor() as cursor:
            cursor.execute(_WRITE, [name, json.dumps(value)])

    def read_progress(self, table: str) -> Progress:
        """Return how much of a table was copied."""
        found = self.read(f"table {table}")
        if found is None:
            return Progress()
        return Progress(found["last"], Total(found["rows"], int(found["sum"], 16)))

    def write_progress(self, table: str, progress: Progress) -> None:
        """Write how much of a table was copied; in the transaction that copies it."""
        total = progress.total
        self.write(f"table {table}", {"last": progress.last, "rows": total.rows, "sum": f"{total.sum:x}"})
