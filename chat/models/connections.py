"""Gives database connections back."""

from __future__ import annotations

from django.db import connection


def release_connection() -> None:
    """Close this thread's connection before a long wait; the next query opens another one.

    Does nothing inside a transaction.
    """
    if not connection.in_atomic_block:
        connection.close()
