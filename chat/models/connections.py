"""Gives database connections back."""

from __future__ import annotations

from django.db import close_old_connections, connection


def close_unusable_connection() -> None:
    """Close this thread's connection where the database has closed it or its time is over.

    Does nothing inside a transaction.
    """
    if not connection.in_atomic_block:
        close_old_connections()


def release_connection() -> None:
    """Close this thread's connection before a long wait; the next query opens another one.

    Does nothing inside a transaction.
    """
    if not connection.in_atomic_block:
        connection.close()
