"""Waits for a database that another program holds, and not for ever (seed 001, "Database locked")."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, connection

T = TypeVar("T")

# On top of the 20 s that SQLite itself waits for a lock: some it refuses at once, whatever its timeout.
PAUSES = (0.05, 0.1, 0.2, 0.4)


class DatabaseLocked(Exception):
    """Another program held the database for too long; nothing was changed, and the call can be made again."""


def patiently(call: Callable[[], T]) -> T:
    """Return what the call returns, made again after growing, jittered pauses while the database is locked.

    Everything in the call must be in transactions that it opens itself: they are rolled back before it is
    made again. Raises DatabaseLocked after the last pause.
    """
    for pause in (*PAUSES, None):
        try:
            return call()
        except OperationalError as error:
            # In a caller's transaction nothing was rolled back, so making the call again could do half twice.
            if "locked" not in str(error) or connection.in_atomic_block:
                raise
            if pause is None:
                raise DatabaseLocked("Another program has kept the database locked.") from error
            time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - only spreads two programs apart
    raise AssertionError("unreachable")
