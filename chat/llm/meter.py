"""Measures how many seconds models have worked in the background lane of this process."""

from __future__ import annotations

import threading


class WorkMeter:
    """Adds up seconds. Callable from any thread; never waits for a database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds = 0.0

    def add(self, seconds: float) -> None:
        """Add seconds in which a model worked, without those in which its call waited."""
        with self._lock:
            self._seconds += seconds

    def take(self) -> float:
        """Return the seconds so far and reset them to 0."""
        with self._lock:
            seconds, self._seconds = self._seconds, 0.0
        return seconds

    def read(self) -> float:
        """Return the seconds so far."""
        return self._seconds


background = WorkMeter()
