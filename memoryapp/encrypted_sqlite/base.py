"""Django's backend of SQLite with SQLCipher in the place of Python's sqlite3 module."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base as plain
from django.db.backends.sqlite3._functions import register as register_functions  # type: ignore[import-untyped]
from django.utils.dateparse import parse_date, parse_datetime, parse_time
from sqlcipher3 import dbapi2 as sqlcipher

from memoryapp.base.encryption import process_keys
from memoryapp.base.env import BadValue
from memoryapp.base.passphrase import UNFINISHED, is_plain
from memoryapp.base.sqlcipher import connect
from memoryapp.sqlite.write_turns import WaitingConnection, WaitingCursor

# As Django registers them for Python's sqlite3 module.
for _kind, _parse in (
    ("date", parse_date),
    ("time", parse_time),
    ("datetime", parse_datetime),
    ("timestamp", parse_datetime),
):
    sqlcipher.register_converter(_kind, plain.decoder(_parse))
sqlcipher.register_converter("bool", b"1".__eq__)
sqlcipher.register_adapter(decimal.Decimal, str)
sqlcipher.register_adapter(datetime.date, plain.adapt_date)
sqlcipher.register_adapter(datetime.datetime, plain.adapt_datetime)


class _Cursor(sqlcipher.Cursor):  # type: ignore[misc]  # sqlcipher3 has no types
    """A cursor that takes Django's placeholders."""

    convert_query = plain.SQLiteCursorWrapper.convert_query

    def execute(self, query: str, params: Any = None) -> Any:
        """Execute a statement with placeholders such as %s or %(name)s."""
        if params is None:
            return super().execute(query)
        names = list(params) if isinstance(params, Mapping) else None
        return super().execute(self.convert_query(query, param_names=names), params)

    def executemany(self, query: str, param_list: Iterable[Any]) -> Any:
        """Execute a statement once for each set of parameters."""
        rows = list(param_list)
        names = list(rows[0]) if rows and isinstance(rows[0], Mapping) else None
        return super().executemany(self.convert_query(query, param_names=names), rows)


class CursorWrapper(WaitingCursor, _Cursor):
    """A cursor that waits for its turn before it writes."""


class DatabaseWrapper(WaitingConnection, plain.DatabaseWrapper):
    """A connection to the encrypted database, with the keys of this process. It takes turns to write."""

    Database = sqlcipher
    cursor_class = CursorWrapper

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Open a connection. Raises BadValue without a passphrase, and for a plain database."""
        connection = connect(key=process_keys().database, **conn_params)
        try:
            self._prepare(connection)
        except sqlcipher.DatabaseError:
            connection.close()
            # Looked at now and not before: closing the file would drop the locks of other connections.
            if is_plain(Path(conn_params["database"])):
                raise BadValue(UNFINISHED) from None
            raise
        return connection

    def _prepare(self, connection: Any) -> None:
        register_functions(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA legacy_alter_table = OFF")
        for command in self.init_commands:  # type: ignore[attr-defined]
            if command := command.strip():
                connection.execute(command)
