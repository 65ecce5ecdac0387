"""The channel layer of this process: Channels' own, with a bounded cost of each event."""

from __future__ import annotations

import time
from typing import Any

from channels.layers import InMemoryChannelLayer

CLEAN_SECONDS = 5.0


class ChannelLayer(InMemoryChannelLayer):
    """Looks for expired events every few seconds.

    The base class looks through all channels and groups whenever a socket waits for its next event. One event
    for thousands of sockets would keep the event loop busy for a minute.
    """

    _cleaned = 0.0

    def _clean_expired(self) -> Any:
        now = time.monotonic()
        if now - self._cleaned >= CLEAN_SECONDS:
            self._cleaned = now
            super()._clean_expired()  # type: ignore[misc]
