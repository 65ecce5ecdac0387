"""Notices that the clock was put back while this process runs: many machines start with a wrong one."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, close_old_connections
from django.utils import timezone

from chat.actions import clock

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 30.0


@contextmanager
def watched() -> Iterator[None]:
    """Look at the clock again and again in a thread of its own until the block ends."""
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(over,), name="jobs-clock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(5)


def _watch(over: threading.Event) -> None:
    before = _ahead()
    while not over.wait(_LOOK_SECONDS):
        try:
            before = look(before)
        finally:
            close_old_connections()


def look(before: float) -> float:
    """Put things right where the clock has gone back since it was so far ahead of what no one sets.

    Returns how far it is ahead now, in seconds; as before where the database is away, to look once more.
    """
    now = _ahead()
    if before - now < clock.AHEAD.total_seconds():
        return now
    try:
        clock.put_back(timezone.now())
    except DatabaseError:
        logger.warning("what a wrong clock has written could not be put right yet", exc_info=True)
        return before
    return now


def _ahead() -> float:
    return time.time() - time.monotonic()
