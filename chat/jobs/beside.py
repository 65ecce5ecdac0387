"""Small work that is done again and again beside the jobs, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import DatabaseError, close_old_connections

logger = logging.getLogger(__name__)


@contextmanager
def repeated(name: str, seconds: float, work: Callable[[], object]) -> Iterator[None]:
    """Do the work every so many seconds until the block ends; a database that is away ends nothing."""
    over = threading.Event()
    thread = threading.Thread(target=_repeat, args=(over, name, seconds, work), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(5)


def _repeat(over: threading.Event, name: str, seconds: float, work: Callable[[], object]) -> None:
    while not over.wait(seconds):
        try:
            work()
        except DatabaseError:
            logger.warning("%s could not do its work, and tries again", name, exc_info=True)
        finally:
            close_old_connections()
