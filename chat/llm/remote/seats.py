"""Which of llama-server's slots a conversation continues, so that none reads over another's cached prompt."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection


class Seats:
    """Gives the last slot to background prompts and the others to conversations, the least recent first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seat: OrderedDict[str, int] = OrderedDict()
        self._count = 0

    @property
    def count(self) -> int:
        """How many slots the server has; with one or none it chooses itself."""
        return self._count

    @count.setter
    def count(self, count: int) -> None:
        with self._lock:
            self._count = count
            self._seat.clear()

    def of(self, name: str, *, background: bool) -> int | None:
        """Return the slot of a conversation or of the background, None where the server shall choose."""
        with self._lock:
            if self._count < 2:
                return None
            if background:
                return self._count - 1
            if name not in self._seat:
                taken = set(self._seat.values())
                free = next((seat for seat in range(self._count - 1) if seat not in taken), None)
                self._seat[name] = self._seat.popitem(last=False)[1] if free is None else free
            self._seat.move_to_end(name)
            return self._seat[name]

    def forget(self, names: Collection[str]) -> None:
        """Free the slots of these conversations."""
        with self._lock:
            for name in names:
                self._seat.pop(name, None)
