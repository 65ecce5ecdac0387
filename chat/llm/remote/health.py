"""Monitors model servers: connects, notices that one went away or changed its model, and connects again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from chat.errors import ModelNotReady, ProviderError, ServerAway

from .errors import without_message
from .provider import RemoteProvider
from .server import ModelServer

logger = logging.getLogger(__name__)

# Seconds between two attempts, doubled each time. After a refusal, such as a wrong key, the pause is longest.
_FIRST_PAUSE, _LONGEST_PAUSE, _AFTER_REFUSAL = 1.0, 30.0, 300.0
# A server that restarts is back within the first minute: until then the pause is short.
_RESTART_SECONDS, _LONGEST_PAUSE_IN_RESTART = 60.0, 2.0
# How often a server in a private network is checked. A hosted server is never polled.
_CHECK_SECONDS = 20.0


class HealthMonitor:
    """Monitors the servers of a provider, each in a thread.

    Calls `ready` whenever one became reachable, and `away` when none is.
    """

    def __init__(
        self, provider: RemoteProvider, ready: Callable[[], None], away: Callable[[ProviderError], None]
    ) -> None:
        self._provider = provider
        self._ready, self._away = ready, away
        self._stopped = threading.Event()
        self._threads = [_ServerThread(server, self._stopped, self._report) for server in provider.servers]

    def start(self) -> None:
        """Start to connect, and return at once."""
        for thread in self._threads:
            thread.start()

    def retry_now(self) -> None:
        """Attempt to connect now; callable from any thread."""
        for thread in self._threads:
            thread.wake.set()

    def stop(self) -> None:
        """End the threads without waiting for them; they call nothing any more."""
        self._stopped.set()
        for thread in self._threads:
            thread.server.needs_reconnect.set()
            thread.wake.set()

    def _report(self, problem: ProviderError | None) -> None:
        """Tell what a server's state means for the model."""
        if self._stopped.is_set():
            return
        self._provider.note_change()
        if problem is None:
            self._wake_refused()
            self._ready()
            return
        problems = [server.problem for server in self._provider.servers]
        known = [one for one in problems if one is not None]
        if len(known) == len(problems):
            # A server that may come back says more than one that refuses.
            self._away(next((one for one in known if isinstance(one, ServerAway)), known[0]))

    def _wake_refused(self) -> None:
        """Let servers that had another model connect now: the model that counts may have become theirs."""
        for thread in self._threads:
            if is_other_model(thread.server.problem):
                thread.wake.set()


class _ServerThread(threading.Thread):
    """Connects to one server, and again whenever it fails; `report` gets each result."""

    def __init__(
        self,
        server: ModelServer,
        stopped: threading.Event,
        report: Callable[[ProviderError | None], None],
    ) -> None:
        super().__init__(name="remote-health", daemon=True)
        self.server = server
        self.wake = threading.Event()
        self._stopped = stopped
        self._report = report

    def run(self) -> None:
        """Connect until the monitor is stopped."""
        pause, failed_since = _FIRST_PAUSE, time.monotonic()
        while not self._stopped.is_set():
            self.wake.clear()
            try:
                self.server.connect()
            except ProviderError as problem:
                if self._stopped.is_set():
                    return
                logger.warning("the model's server: %s", without_message(problem))
                self._report(problem)
                self.wake.wait(self._find_pause(problem, pause))
                pause = find_next_pause(pause, time.monotonic() - failed_since)
            else:
                self._report(None)
                self._verify()
                self._wait_for_trouble()
                pause, failed_since = _FIRST_PAUSE, time.monotonic()

    def _verify(self) -> None:
        """Probe a server in use that has changed. Where that fails, calls will tell what is wrong."""
        try:
            if self.server.verify():
                self._report(None)
        except ProviderError as problem:
            logger.warning("the model's server was not probed: %s", without_message(problem))

    @staticmethod
    def _find_pause(problem: ProviderError, pause: float) -> float:
        if isinstance(problem, ModelNotReady):
            return pause
        # Models are replaced one server after another: soon all have the same one again. And another program
        # at the port of the chosen one may end soon.
        is_other = is_other_model(problem) or problem.code == "server-other-program"
        return _LONGEST_PAUSE if is_other else _AFTER_REFUSAL

    def _wait_for_trouble(self) -> None:
        every = _CHECK_SECONDS if self.server.address.private else None
        while not self._stopped.is_set() and not self.server.needs_reconnect.wait(every):
            if not self.server.is_reachable():
                return


def is_other_model(problem: ProviderError | None) -> bool:
    """Return whether a server is left out since another one before it has another model."""
    return problem is not None and problem.code == "server-other-model"


def find_next_pause(pause: float, failing_for: float) -> float:
    """Return the next pause between two attempts to connect; all times are in seconds."""
    longest = _LONGEST_PAUSE_IN_RESTART if failing_for < _RESTART_SECONDS else _LONGEST_PAUSE
    return min(2 * pause, longest)
