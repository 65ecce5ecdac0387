"""Lets the threads of a process write to SQLite one after the other.

SQLite has one writer at a time and no queue: a connection that finds another one writing sleeps for up to
100 ms and tries again, and each try takes processor time.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from django.db.utils import OperationalError

if TYPE_CHECKING:
    from django.db.backends.sqlite3.base import DatabaseWrapper as _Wrapper
    from django.db.backends.sqlite3.base import SQLiteCursorWrapper as _Cursor
else:
    _Wrapper = _Cursor = object

# A statement that writes no rows, or that begins or ends a transaction.
_READING = re.compile(r"\A\s*(?:SELECT|PRAGMA|EXPLAIN|BEGIN|SAVEPOINT|RELEASE|ROLLBACK|COMMIT)\b", re.I)

# One lock for each database, by the name of its file. Who holds the lock has the turn.
_turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


class WaitingConnection(_Wrapper):
    """A connection of Django that begins a transaction only when no other one of this process writes.

    Every transaction is one that writes, since they begin with BEGIN IMMEDIATE.
    """

    cursor_class: type[Any]
    _turn: threading.Lock | None = None

    @property
    def has_turn(self) -> bool:
        """Return whether this connection has the turn."""
        return self._turn is not None

    def create_cursor(self, name: str | None = None) -> Any:
        """Return a cursor that waits for its turn, too."""
        cursor = self.connection.cursor(factory=self.cursor_class)
        cursor.turns = self
        return cursor

    def take_turn(self) -> None:
        """Wait for the turn. Raises OperationalError after the connection's timeout, as SQLite does."""
        turn = _turns[str(self.settings_dict["NAME"])]
        if not turn.acquire(timeout=self.settings_dict["OPTIONS"].get("timeout", 5.0)):
            raise OperationalError("database is locked")
        self._turn = turn

    def end_turn(self) -> None:
        """Let another connection write."""
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.release()

    def _start_transaction_under_autocommit(self) -> None:
        self.take_turn()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]  # no stub has it
        except BaseException:
            self.end_turn()
            raise

    def _set_autocommit(self, autocommit: bool) -> None:
        # Django calls this with True after it has committed or rolled back a transaction.
        try:
            super()._set_autocommit(autocommit)  # type: ignore[misc]  # no stub has it
        finally:
            if autocommit:
                self.end_turn()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]  # no stub has it
        finally:
            self.end_turn()


class WaitingCursor(_Cursor):
    """A cursor that waits for its connection's turn before a statement that writes without a transaction.

    The turn ends when `execute` returns. SQLite ends an INSERT … RETURNING only when its row is fetched, so
    another connection may meanwhile sleep and try again.
    """

    turns: WaitingConnection | None = None

    def execute(self, query: str, params: Any = None) -> Any:
        """Execute a statement as Django's cursor does."""
        if (turns := self.turns) is None or turns.has_turn or _READING.match(query):
            return super().execute(query, params)
        turns.take_turn()
        try:
            return super().execute(query, params)
        finally:
            turns.end_turn()
