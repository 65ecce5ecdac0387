"""Connections to SQLite databases with encrypted pages."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from .encryption import process_keys
from .env import data_path, database_path
from .passphrase import is_encrypted, is_plain

# What the connections of `connect` and `open_database` raise.
DATABASE_ERRORS = (sqlite3.Error, sqlcipher.Error)


def connect(database: str | Path, key: str, **options: Any) -> Any:
    """Open an encrypted database; "" as its key opens a plain one. Options are those of `sqlite3.connect`.

    A key of 64 hexadecimal digits is used as it is, without deriving another one. A wrong one fails in the
    first statement.
    """
    connection = sqlcipher.connect(str(database), **options)
    # Otherwise a wrong key is also told on standard error.
    connection.execute("PRAGMA cipher_log_level = NONE").fetchall()
    if key:
        connection.execute(f'PRAGMA key = "{quote_key(key)}"')
    return connection


def quote_key(key: str) -> str:
    """Return a key as a literal of SQLCipher. Raises ValueError where it is not 64 hexadecimal digits."""
    if len(bytes.fromhex(key)) != 32:
        raise ValueError("not a key of a database")
    return f"x'{key}'"


def open_database(database: Path, *, read_only: bool = False) -> Any:
    """Open a database of this installation, whether it is encrypted or not, outside of Django."""
    name = f"file:{database}?mode=ro" if read_only else str(database)
    if is_encrypted(data_path()) and not is_plain(database):
        return connect(name, process_keys().database, uri=read_only)
    return sqlite3.connect(name, uri=read_only)


def copy_with_key(source: Any, target: Path, key: str) -> None:
    """Write the database of an open SQLCipher connection to a new file with another key, "" for none."""
    target.touch(mode=0o600)
    quoted = quote_key(key) if key else ""
    source.execute("ATTACH DATABASE ? AS converted KEY ?", (str(target), quoted))
    try:
        source.execute("SELECT sqlcipher_export('converted')").fetchall()
    finally:
        source.execute("DETACH DATABASE converted")


def main() -> int:
    """Print the applied migrations of an encrypted database as JSON, for `start`."""
    with closing(open_database(database_path(), read_only=True)) as opened:
        rows = opened.execute("SELECT app, name FROM django_migrations ORDER BY app, name").fetchall()
    sys.stdout.write(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
