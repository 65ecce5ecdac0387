"""Notices that the clock was put back while this process runs: many machines start with a wrong one."""

from __future__ import annotations

import logging
import time
from contextlib import AbstractContextManager

from django.db import DatabaseError
from django.utils import timezone

from chat.actions import clock

from .beside import repeated

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 30.0


class _Clock:
    """How far the clock was ahead at the last look."""

    def __init__(self) -> None:
        self._before = _ahead()

    def look(self) -> None:
        self._before = look(self._before)


def watched() -> AbstractContextManager[None]:
    """Look at the clock again and again in a thread of its own until the block ends."""
    return repeated("jobs-clock", _LOOK_SECONDS, _Clock().look)


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
