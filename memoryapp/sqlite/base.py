"""Django's backend of SQLite whose connections take turns to write."""

from __future__ import annotations

from django.db.backends.sqlite3 import base as plain

from .write_turns import WaitingConnection, WaitingCursor


class CursorWrapper(WaitingCursor, plain.SQLiteCursorWrapper):
    """A cursor that waits for its turn before it writes."""


class DatabaseWrapper(WaitingConnection, plain.DatabaseWrapper):
    """A connection that waits for its turn before it writes."""

    cursor_class = CursorWrapper
