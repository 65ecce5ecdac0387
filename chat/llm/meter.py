"""How long models have worked in the background lane of this process, until somebody accounts for it."""

from __future__ import annotations

import threading


class Meter:
    """Adds up seconds; every method may be called from any thread and never waits for a database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds = 0.0

    def add(self, seconds: float) -> None:
        """Add seconds in which a model worked, without those in which its request waited."""
        with self._lock:
            self._seconds += seconds

    def take(self) -> float:
        """Return the seconds so far and begin at zero again."""
        with self._lock:
            seconds, self._seconds = self._seconds, 0.0
        return seconds

    def reading(self) -> float:
        """Return the seconds so far."""
        return self._seconds


background = Meter()
