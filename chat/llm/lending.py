"""Who still writes with a model that is no longer the chosen one: the last of them closes it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@runtime_checkable
class Closable(Protocol):
    """A provider that holds something."""

    def close(self) -> None: ...


@dataclass(slots=True)
class _Loan:
    provider: object
    uses: int = 0
    retired: bool = False


class Lending:
    """Counts the uses of each provider; safe from any thread, only `wait` and `close` block."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loans: list[_Loan] = []
        self._closing: list[threading.Thread] = []

    def take(self, provider: object) -> None:
        """Note one more use: until it is given back, only `close` closes the provider."""
        with self._lock:
            loan = self._of(provider)
            if loan is None:
                self._loans.append(loan := _Loan(provider))
            loan.uses += 1

    def give_back(self, provider: object) -> None:
        """End one use; the last one of a retired provider closes it."""
        with self._lock:
            loan = self._of(provider)
            if loan is None:
                return
            loan.uses -= 1
            if not loan.uses:
                self._loans.remove(loan)
                if loan.retired:
                    self._close_soon(provider)

    def retire(self, provider: object) -> None:
        """Close a provider as soon as nobody uses it, at once where nobody does."""
        with self._lock:
            loan = self._of(provider)
            if loan is None:
                self._close_soon(provider)
            else:
                loan.retired = True

    def reclaim(self, is_meant: Callable[[object], bool]) -> object | None:
        """Return a retired provider that is still in use, for it to be the chosen one again; None without."""
        with self._lock:
            for loan in self._loans:
                if loan.retired and is_meant(loan.provider):
                    loan.retired = False
                    return loan.provider
        return None

    def wait(self) -> None:
        """Wait until all that is being closed is closed."""
        with self._lock:
            closing = list(self._closing)
        for thread in closing:
            thread.join()

    def close(self) -> None:
        """Close what is retired, used or not, and wait for it."""
        with self._lock:
            for loan in [loan for loan in self._loans if loan.retired]:
                self._loans.remove(loan)
                self._close_soon(loan.provider)
        self.wait()

    def _of(self, provider: object) -> _Loan | None:
        return next((loan for loan in self._loans if loan.provider is provider), None)

    def _close_soon(self, provider: object) -> None:
        """Begin to close in a thread of its own: an engine ends the token at hand before it frees a model."""
        if isinstance(provider, Closable):
            self._closing = [thread for thread in self._closing if thread.is_alive()]
            thread = threading.Thread(target=provider.close, name="retiring", daemon=True)
            self._closing.append(thread)
            thread.start()
