"""Gives database connections back, and empties SQLite's write-ahead log."""

from __future__ import annotations

from django.db import close_old_connections, connection


def close_unusable_connection() -> None:
    """Close this thread's connection where the database has closed it or its time is over.

    Does nothing inside a transaction.
    """
    if not connection.in_atomic_block:
        close_old_connections()


# Milliseconds. Writers wait as long while a checkpoint waits for readers.
_CHECKPOINT_PATIENCE = 1000


def empty_write_ahead_log() -> bool:
    """Write SQLite's log into the database file; return whether the log is empty now.

    Until then deleted text is in the log, and in pages of the file that the log replaces. False while
    somebody reads an older state. Does nothing with PostgreSQL. Outside a transaction.
    """
    if connection.vendor != "sqlite":
        return True
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        before = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_PATIENCE}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            busy, _pages, _written = cursor.fetchone()
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {before}")
    return not busy


def release_connection() -> None:
    """Close this thread's connection before a long wait; the next query opens another one.

    Does nothing inside a transaction.
    """
    if not connection.in_atomic_block:
        connection.close()
