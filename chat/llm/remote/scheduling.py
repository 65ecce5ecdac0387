"""Which call may use a model server now, by lanes as in the local engine, and in which of its slots."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection

from chat.llm.turns import Turns
from chat.llm.types import Lane, StopFlag

_number = itertools.count()


class QueueTicket:
    """One call's place in the queue. `preempted` is set when the call must stop and be attempted again."""

    def __init__(self, lane: Lane, stop: StopFlag, owner: str = "") -> None:
        self.lane = lane
        self.stop = stop
        self.owner = owner
        self.ticket = next(_number)
        # It was admitted before, and attempts its call again.
        self.has_begun = False
        self.preempted = False
        # Text has been delivered to the caller, so the call cannot be attempted again.
        self.has_output = False
        self._cancel: Callable[[], None] | None = None

    def set_cancel(self, cancel: Callable[[], None] | None) -> None:
        """Register the function that closes this call's response; None while there is no response."""
        self._cancel = cancel
        if cancel is not None and (self.preempted or self.stop.is_set()):
            cancel()

    def cancel(self) -> None:
        """Close the response, if there is one; callable from any thread."""
        if (cancel := self._cancel) is not None:
            cancel()

    def preempt(self) -> None:
        """Close the response in favour of a call of a higher lane."""
        self.preempted = True
        self.cancel()


class CallQueue:
    """Admits up to `capacity` calls of one lane at a time, the highest lane first, and owners in turns.

    Calls of two lanes never run at the same time: the server would divide its speed between them. Callable
    from any thread.
    """

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._waiting: list[QueueTicket] = []
        self._active: list[QueueTicket] = []
        self._turns = Turns()
        self._closed = False
        self.capacity = 1

    def enter(self, ticket: QueueTicket) -> bool:
        """Wait for admission, and pre-empt calls of lower lanes.

        False when the call was stopped meanwhile.
        """
        with self._wake:
            ticket.preempted = False
            self._waiting.append(ticket)
            for other in self._active:
                if other.lane > ticket.lane and not other.has_output:
                    other.preempt()
            self._wake.wait_for(lambda: self._is_over(ticket) or self._may_enter(ticket))
            self._waiting.remove(ticket)
            entered = not self._is_over(ticket)
            if entered:
                self._turns.begin(ticket)
                ticket.has_begun = True
                self._active.append(ticket)
            # The next waiting call may be admitted now too.
            self._wake.notify_all()
            return entered

    def leave(self, ticket: QueueTicket) -> None:
        """End a call's admission."""
        with self._wake:
            if ticket in self._active:
                self._active.remove(ticket)
            self._wake.notify_all()

    def wake_waiting(self) -> None:
        """Make the waiting calls check their stop flags."""
        with self._wake:
            self._wake.notify_all()

    def close(self) -> None:
        """Cancel all calls, and admit none from now on."""
        with self._wake:
            self._closed = True
            for ticket in self._active:
                ticket.cancel()
            self._wake.notify_all()

    @property
    def closed(self) -> bool:
        """Return whether no call is admitted any more."""
        return self._closed

    def _is_over(self, ticket: QueueTicket) -> bool:
        return self._closed or ticket.stop.is_set()

    def _may_enter(self, ticket: QueueTicket) -> bool:
        return (
            self._turns.find_next(self._waiting) is ticket
            and len(self._active) < self.capacity
            and all(one.lane == ticket.lane for one in self._active)
        )


class SlotPool:
    """Assigns llama-server's slots, so that no prompt overwrites another conversation's cached prefix.

    Background prompts share the last slot; conversations get the others, the least recently used one first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots: OrderedDict[str, int] = OrderedDict()
        self._count = 0

    @property
    def count(self) -> int:
        """How many slots the server has; with one or none the server chooses itself."""
        return self._count

    @count.setter
    def count(self, count: int) -> None:
        with self._lock:
            self._count = count
            self._slots.clear()

    def assign(self, name: str, *, background: bool) -> int | None:
        """Return the slot for a conversation or a background prompt, None where the server chooses."""
        with self._lock:
            if self._count < 2:
                return None
            if background:
                return self._count - 1
            if name not in self._slots:
                taken = set(self._slots.values())
                free = next((slot for slot in range(self._count - 1) if slot not in taken), None)
                self._slots[name] = self._slots.popitem(last=False)[1] if free is None else free
            self._slots.move_to_end(name)
            return self._slots[name]

    def forget(self, names: Collection[str]) -> None:
        """Free the slots of these conversations."""
        with self._lock:
            for name in names:
                self._slots.pop(name, None)
