"""For how long a model server is left out after a failure."""

from __future__ import annotations

import threading
import time

# Seconds of the first pause, doubled with each failure after it, and of the longest one.
_FIRST_REST, _LONGEST_REST = 2.0, 60.0


class FailureRest:
    """The pause of one server, in which it gets no calls. Callable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rest = 0.0
        self._ends_monotonic = 0.0

    @property
    def is_over(self) -> bool:
        """Return whether the server may get calls."""
        return time.monotonic() >= self._ends_monotonic

    def note_failure(self, *, seconds: float = 0.0) -> None:
        """Begin a pause of twice the last one's length, and of at least `seconds`.

        Calls that fail during a pause began before it: they have the same cause, so they extend the pause and
        do not double it.
        """
        with self._lock:
            now = time.monotonic()
            if now >= self._ends_monotonic:
                self._rest = min(2 * self._rest, _LONGEST_REST) if self._rest else _FIRST_REST
            ends = now + min(max(self._rest, seconds), _LONGEST_REST)
            self._ends_monotonic = max(self._ends_monotonic, ends)

    def note_answer(self) -> None:
        """Let the next pause be as short as the first one; a pause that has begun goes on."""
        with self._lock:
            if time.monotonic() >= self._ends_monotonic:
                self._rest = 0.0

    def end(self) -> None:
        """End the pause, and forget all failures."""
        with self._lock:
            self._rest = self._ends_monotonic = 0.0
