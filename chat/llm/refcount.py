"""Counts the users of providers that have been replaced, so that the last user closes the provider."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@runtime_checkable
class Closable(Protocol):
    """A provider that holds resources."""

    def close(self) -> None: ...


@dataclass(slots=True)
class _Entry:
    provider: object
    users: int = 0
    retired: bool = False


class ProviderRefcounts:
    """Counts the users of each provider. Callable from any thread; only `wait` and `close` block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[_Entry] = []
        self._closing: list[threading.Thread] = []

    def acquire(self, provider: object) -> None:
        """Count one more user; until its `release`, only `close` closes the provider."""
        with self._lock:
            entry = self._find(provider)
            if entry is None:
                self._entries.append(entry := _Entry(provider))
            entry.users += 1

    def release(self, provider: object) -> None:
        """Count one user less; the last user of a retired provider closes it."""
        with self._lock:
            entry = self._find(provider)
            if entry is None:
                return
            entry.users -= 1
            if not entry.users:
                self._entries.remove(entry)
                if entry.retired:
                    self._start_closing(provider)

    def retire(self, provider: object) -> None:
        """Close a provider as soon as it has no user."""
        with self._lock:
            entry = self._find(provider)
            if entry is None:
                self._start_closing(provider)
            else:
                entry.retired = True

    def reclaim(self, is_wanted: Callable[[object], bool]) -> object | None:
        """Return a retired provider that is still in use, and retire it no longer; None without one."""
        with self._lock:
            for entry in self._entries:
                if entry.retired and is_wanted(entry.provider):
                    entry.retired = False
                    return entry.provider
        return None

    def wait(self) -> None:
        """Wait until all providers that are being closed are closed."""
        with self._lock:
            closing = list(self._closing)
        for thread in closing:
            thread.join()

    def close(self) -> None:
        """Close all retired providers, even those in use, and wait for it."""
        with self._lock:
            for entry in [entry for entry in self._entries if entry.retired]:
                self._entries.remove(entry)
                self._start_closing(entry.provider)
        self.wait()

    def _find(self, provider: object) -> _Entry | None:
        return next((entry for entry in self._entries if entry.provider is provider), None)

    def _start_closing(self, provider: object) -> None:
        """Close in a thread of its own: an engine finishes its current token before it frees the model."""
        if isinstance(provider, Closable):
            self._closing = [thread for thread in self._closing if thread.is_alive()]
            thread = threading.Thread(target=provider.close, name="closing-provider", daemon=True)
            self._closing.append(thread)
            thread.start()
