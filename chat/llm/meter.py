"""Measures how many seconds models have worked in the background lane of this process, and for whom."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping


class WorkMeter:
    """Adds up seconds by owner. Callable from any thread; never waits for a database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seconds: Counter[str] = Counter()

    def add(self, seconds: float, owner: str = "") -> None:
        """Add seconds in which a model worked for an owner, without those in which its call waited."""
        with self._lock:
            self._seconds[owner] += seconds  # type: ignore[assignment]

    def take(self) -> float:
        """Return the seconds so far and reset them to 0."""
        return sum(self.take_by_owner().values())

    def take_by_owner(self) -> Mapping[str, float]:
        """Return the seconds so far by owner and reset them to 0."""
        with self._lock:
            seconds, self._seconds = dict(self._seconds), Counter()
        return seconds

    def read(self, owner: str | None = None) -> float:
        """Return the seconds so far, of one owner or of all."""
        with self._lock:
            return sum(self._seconds.values()) if owner is None else self._seconds[owner]


background = WorkMeter()
