"""Monitors a model server: connects, notices that it went away or changed its model, and connects again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from chat.errors import ModelNotReady, ProviderError

from .errors import without_message
from .provider import RemoteProvider

logger = logging.getLogger(__name__)

# Seconds between two attempts, doubled each time. After a refusal, such as a wrong key, the pause is longest.
_FIRST_PAUSE, _LONGEST_PAUSE, _AFTER_REFUSAL = 1.0, 30.0, 300.0
# How often a server in a private network is checked. A hosted server is never polled.
_CHECK_SECONDS = 20.0


class HealthMonitor:
    """Owns a thread, which calls `ready` and `away` whenever the server becomes reachable or unreachable."""

    def __init__(
        self, provider: RemoteProvider, ready: Callable[[], None], away: Callable[[ProviderError], None]
    ) -> None:
        self._provider = provider
        self._ready, self._away = ready, away
        self._stopped = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._main, name="remote-health", daemon=True)

    def start(self) -> None:
        """Start to connect, and return at once."""
        self._thread.start()

    def retry_now(self) -> None:
        """Attempt to connect now; callable from any thread."""
        self._wake.set()

    def stop(self) -> None:
        """End the thread without waiting for it; it calls nothing any more."""
        self._stopped.set()
        self._provider.needs_reconnect.set()
        self._wake.set()

    def _main(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopped.is_set():
            self._wake.clear()
            try:
                self._provider.connect()
            except ProviderError as problem:
                if self._stopped.is_set():
                    return
                logger.warning("the model's server: %s", without_message(problem))
                self._away(problem)
                self._wake.wait(pause if isinstance(problem, ModelNotReady) else _AFTER_REFUSAL)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                pause = _FIRST_PAUSE
                if not self._stopped.is_set():
                    self._ready()
                    self._wait_for_trouble()

    def _wait_for_trouble(self) -> None:
        every = _CHECK_SECONDS if self._provider.address.private else None
        while not self._provider.needs_reconnect.wait(every):
            if not self._provider.is_reachable():
                return
