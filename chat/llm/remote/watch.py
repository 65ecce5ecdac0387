"""Keeps in touch with a server: connects, notices that it went away or changed, and connects again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from chat.llm.types import ModelNotReady, ProviderError

from .provider import RemoteProvider
from .troubles import told_alone

logger = logging.getLogger(__name__)

# Seconds between two tries, doubled each time; a server that says no will not change its mind soon.
_FIRST_PAUSE, _LONGEST_PAUSE, _AFTER_REFUSAL = 1.0, 30.0, 300.0
# How often it is asked whether it is still there; a hosted one is only asked what somebody wants of it.
_LOOK_SECONDS = 20.0


class Watch:
    """Owns a thread; tells `ready` and `away` from there whenever the server comes and goes."""

    def __init__(
        self, provider: RemoteProvider, ready: Callable[[], None], away: Callable[[ProviderError], None]
    ) -> None:
        self._provider = provider
        self._ready, self._away = ready, away
        self._over = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._main, name="remote-watch", daemon=True)

    def start(self) -> None:
        """Begin to connect, and return at once."""
        self._thread.start()

    def nudge(self) -> None:
        """Try again now: somebody waits."""
        self._wake.set()

    def stop(self) -> None:
        """End the thread; it tells nothing more."""
        self._over.set()
        self._provider.trouble.set()
        self._wake.set()

    def _main(self) -> None:
        pause = _FIRST_PAUSE
        while not self._over.is_set():
            self._wake.clear()
            try:
                self._provider.connect()
            except ProviderError as problem:
                if self._over.is_set():
                    return
                logger.warning("the model's server: %s", told_alone(problem))
                self._away(problem)
                self._wake.wait(pause if isinstance(problem, ModelNotReady) else _AFTER_REFUSAL)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                pause = _FIRST_PAUSE
                if not self._over.is_set():
                    self._ready()
                    self._until_trouble()

    def _until_trouble(self) -> None:
        every = _LOOK_SECONDS if self._provider.address.private else None
        while not self._provider.trouble.wait(every):
            if not self._provider.answers():
                return
