"""Short lists that each process tells the others over Redis, such as the calls that it has at a model server.

Nothing is stored: a process sends its whole list when it changes and once a second, and the others forget it
`FRESH_SECONDS` after the last time. So what a killed process had disappears, and without Redis each process
sees its own list only.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from .message_bus import MessageBus, bus

logger = logging.getLogger(__name__)

# How often a list that is not empty is sent again.
REPEAT_SECONDS = 1.0
# How long the list of another process counts after it was received.
FRESH_SECONDS = 3.5

# One entry of a list. Its values must be serialisable as JSON.
Record = list[Any]


class Announcements:
    """Tells the other processes the list that `read` returns, and keeps theirs. Callable from any thread.

    Other threads call `read` and `on_change`, which must not wait for anything but a short lock; `on_change`
    when the list of another process was received. `name` tells several lists apart. Listening begins with the
    first `announce`.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[], list[Record]],
        on_change: Callable[[], None],
        message_bus: MessageBus = bus,
    ) -> None:
        self._name, self._read, self._on_change, self._bus = name, read, on_change, message_bus
        self._lock = threading.Lock()
        self._others: dict[str, tuple[float, list[Record]]] = {}
        self._is_listening = self._is_sending = self._is_repeating = self._is_changed = False
        self._closed = threading.Event()

    @property
    def _kind(self) -> str:
        return f"list {self._name}"

    @property
    def is_used(self) -> bool:
        """Return whether there are other processes to tell."""
        return self._bus.is_used

    def announce(self) -> None:
        """Send the list soon, as it is then, and again each second until it is empty."""
        if not self.is_used or self._closed.is_set():
            return
        with self._lock:
            listens, self._is_listening = not self._is_listening, True
            begins, self._is_repeating = not self._is_repeating, True
            self._is_changed = True
        if listens:
            self._bus.listen(self._kind, self._receive)
        if begins:
            threading.Thread(target=self._repeat, name=self._kind, daemon=True).start()
        self._send()

    def list_others(self) -> list[Record]:
        """Return the records of all other processes."""
        if not self._others:
            return []
        oldest = time.monotonic() - FRESH_SECONDS
        with self._lock:
            self._others = {key: told for key, told in self._others.items() if told[0] >= oldest}
            return [record for _, records in self._others.values() for record in records]

    def close(self) -> None:
        """Stop listening; the others forget this process's list."""
        self._closed.set()
        self._bus.forget(self._kind, self._receive)

    def _send(self) -> None:
        with self._lock:
            if self._is_sending:
                return
            self._is_sending = True
        if not self._bus.write(self._publish):
            self._is_sending = False

    def _publish(self, pipeline: Any) -> None:
        # Before the list is read: a change after that sends it again.
        self._is_sending = False
        records = [] if self._closed.is_set() else self._read()
        pipeline.publish(*self._bus.make_message(self._kind, records=records))

    def _repeat(self) -> None:
        while not self._closed.wait(REPEAT_SECONDS):
            self._is_changed = False
            is_empty = not self._read()
            with self._lock:
                # An outage of Redis discards queued messages, so the list is queued again.
                self._is_sending = False
                if is_empty and not self._is_changed:
                    self._is_repeating = False
                    return
            self._send()

    def _receive(self, message: dict[str, Any]) -> None:
        with self._lock:
            if message["records"]:
                self._others[message["from"]] = (time.monotonic(), message["records"])
            else:
                self._others.pop(message["from"], None)
        self._on_change()
