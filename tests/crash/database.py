"""The database of a crash test as another program sees it: SQLite's file, or a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import psycopg

from tests.data_folder import make_data_folder, query_database
from tests.search.postgresql import PostgresqlServer, run_postgresql_server


class Database(Protocol):
    """What the checks and the endings need of a database."""

    variables: dict[str, str]

    def rows(self, query: str) -> list[Any]:
        """Run a query and return its rows; keys as 32 hexadecimal digits."""

    def find_damage(self) -> list[str]:
        """Return what is wrong with the database itself."""

    def restart(self) -> bool:
        """Restart the database without a warning; returns False where there is nothing to restart."""


class SqliteFile:
    """The file in a data folder, which is made as after the first start."""

    def __init__(self, folder: Path) -> None:
        make_data_folder(folder)
        self._folder = folder
        self.variables: dict[str, str] = {}

    def rows(self, query: str) -> list[Any]:
        """Run a query and return its rows."""
        return query_database(self._folder, query)

    def find_damage(self) -> list[str]:
        """Return what SQLite's own checks find."""
        faults = [
            f"the database is damaged: {row}" for row in self.rows("PRAGMA integrity_check") if row != ("ok",)
        ]
        return faults + [f"a row refers to nothing: {row}" for row in self.rows("PRAGMA foreign_key_check")]

    def restart(self) -> bool:
        """Do nothing: no process runs the database."""
        return False


class PostgresqlDatabase:
    """A server of its own."""

    def __init__(self, server: PostgresqlServer) -> None:
        self._server = server
        self.variables = {"DATABASE_URL": server.url}

    def rows(self, query: str) -> list[Any]:
        """Run a query and return its rows."""
        with psycopg.connect(self._server.url) as connection:
            found = connection.execute(query.encode()).fetchall()
        return [tuple(v.hex if isinstance(v, UUID) else v for v in row) for row in found]

    def find_damage(self) -> list[str]:
        """Return nothing: PostgreSQL checks its rows itself when they are read."""
        return []

    def restart(self) -> bool:
        """Restart the server at once: it drops all connections and recovers."""
        self._server.restart_at_once()
        return True


@contextmanager
def open_database(kind: str, folder: Path) -> Iterator[Database]:
    """Make the data folder and its database, and remove a server at the end; `kind`: sqlite or postgres."""
    if kind == "sqlite":
        yield SqliteFile(folder)
        return
    make_data_folder(folder)
    (folder / "memoryapp.sqlite3").unlink()
    with run_postgresql_server() as server:
        yield PostgresqlDatabase(server)
