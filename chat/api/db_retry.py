"""Retries a call while another process holds the lock of the SQLite database."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, connection

T = TypeVar("T")

# On top of the 20 s that SQLite waits itself: it refuses some locks at once, whatever its busy timeout.
PAUSES_SECONDS = (0.05, 0.1, 0.2, 0.4)


class DatabaseLocked(Exception):
    """Another process held the database for too long. Nothing was changed; the call can be repeated."""


def retry_while_locked(call: Callable[[], T]) -> T:
    """Return the result of a call, repeated after growing, jittered pauses while the database is locked.

    The call must open its transactions itself: they are rolled back before it is repeated. Raises
    DatabaseLocked after the last pause.
    """
    for pause in (*PAUSES_SECONDS, None):
        try:
            return call()
        except OperationalError as error:
            # In a caller's transaction nothing was rolled back, so a repetition could apply a change twice.
            if "locked" not in str(error) or connection.in_atomic_block:
                raise
            if pause is None:
                raise DatabaseLocked("Another program has kept the database locked.") from error
            time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - only spreads two programs apart
    raise AssertionError("unreachable")
