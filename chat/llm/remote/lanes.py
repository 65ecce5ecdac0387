"""Who may ask a server now: chat before interactive before background, as in the engine (design §4)."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from chat.llm.types import Lane, StopFlag

_number = itertools.count()


class Pass:
    """One call's place in the order. `ousted` is set when it must give way and be asked again."""

    def __init__(self, lane: Lane, stop: StopFlag) -> None:
        self.lane = lane
        self.stop = stop
        self.number = next(_number)
        self.ousted = False
        # Text that somebody has read cannot be asked for again.
        self.firm = False
        self._hang_up: Callable[[], None] | None = None

    def on_line(self, hang_up: Callable[[], None] | None) -> None:
        """Say how this call's response is closed; None while there is none."""
        self._hang_up = hang_up
        if hang_up is not None and (self.ousted or self.stop.is_set()):
            hang_up()

    def hang_up(self) -> None:
        """Close the response, if there is one, from any thread."""
        if (hang_up := self._hang_up) is not None:
            hang_up()

    def give_way(self) -> None:
        """Close the response so that another call has the model to itself."""
        self.ousted = True
        self.hang_up()


class Gate:
    """Lets as many calls of one lane through at a time as the server has places; safe from any thread."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._waiting: list[Pass] = []
        self._inside: list[Pass] = []
        self._closed = False
        self.places = 1

    def enter(self, ticket: Pass) -> bool:
        """Wait for a turn, sending what is less urgent away; False when it was stopped meanwhile."""
        with self._wake:
            ticket.ousted = False
            self._waiting.append(ticket)
            for other in self._inside:
                if other.lane > ticket.lane and not other.firm:
                    other.give_way()
            self._wake.wait_for(lambda: self._is_over(ticket) or self._may_enter(ticket))
            self._waiting.remove(ticket)
            entered = not self._is_over(ticket)
            if entered:
                self._inside.append(ticket)
            # Whoever waited behind this one may have their turn now.
            self._wake.notify_all()
            return entered

    def leave(self, ticket: Pass) -> None:
        """Make room for the next one."""
        with self._wake:
            if ticket in self._inside:
                self._inside.remove(ticket)
            self._wake.notify_all()

    def look_again(self) -> None:
        """Wake those that wait, for a stop flag was set."""
        with self._wake:
            self._wake.notify_all()

    def close(self) -> None:
        """Send everybody away for good."""
        with self._wake:
            self._closed = True
            for ticket in self._inside:
                ticket.hang_up()
            self._wake.notify_all()

    @property
    def closed(self) -> bool:
        """Return whether nobody is let in any more."""
        return self._closed

    def _is_over(self, ticket: Pass) -> bool:
        return self._closed or ticket.stop.is_set()

    def _may_enter(self, ticket: Pass) -> bool:
        urgent = min(self._waiting, key=lambda one: (one.lane, one.number))
        # Two lanes never share the server: it would divide its speed between them.
        return (
            urgent is ticket
            and len(self._inside) < self.places
            and all(one.lane == ticket.lane for one in self._inside)
        )
