"""Which call may use which model server now: by lanes as in the local engine, the least busy server first."""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from chat.llm.turns import Turns
from chat.llm.types import Lane, StopFlag

_number = itertools.count()
# Conversations and background prompts whose server is remembered.
_REMEMBERED_PREFIXES = 10_000
# How often a waiting call looks whether a server that failed can be used again.
_LOOK_SECONDS = 1.0


@dataclass(eq=False)
class ServerPlaces:
    """One server as the queue sees it: its name, how many calls it takes at a time, and those it has.

    `is_known` is false until it was probed; `is_usable` also while it fails.
    """

    name: str
    is_known: Callable[[], bool] = lambda: True
    is_usable: Callable[[], bool] = lambda: True
    capacity: int = 1
    active: list[QueueTicket] = field(default_factory=list)

    def count(self, lane: Lane) -> int:
        """Return how many calls of a lane it has."""
        return sum(one.lane == lane for one in self.active)


class QueueTicket:
    """One call's place in the queue. `preempted` is set when the call must stop and be attempted again.

    `prefix` names what the call has in common with earlier ones, so that it goes to the same server.
    """

    def __init__(self, lane: Lane, stop: StopFlag, owner: str = "", prefix: str = "") -> None:
        self.lane = lane
        self.stop = stop
        self.owner = owner
        self.prefix = prefix
        # Servers on which this call has failed.
        self.avoided: list[ServerPlaces] = []
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
    """Admits each call to one of several servers: the highest lane first, and owners in turns.

    A call goes to the server that has its prefix if there is a place, and else to the least busy one. Calls
    of two lanes never run on one server at the same time: it would divide its speed between them. Callable
    from any thread.
    """

    def __init__(self, servers: Sequence[ServerPlaces]) -> None:
        self._wake = threading.Condition()
        self._servers = servers
        self._waiting: list[QueueTicket] = []
        self._turns = Turns()
        self._prefixes: OrderedDict[tuple[str, str], ServerPlaces] = OrderedDict()
        self._closed = False

    @property
    def active(self) -> list[QueueTicket]:
        """Return the calls that are admitted now."""
        return [ticket for server in self._servers for ticket in server.active]

    def enter(self, ticket: QueueTicket) -> ServerPlaces | None:
        """Wait for admission, and pre-empt calls of lower lanes; returns the server to use.

        None when the call was stopped meanwhile.
        """
        with self._wake:
            ticket.preempted = False
            self._waiting.append(ticket)
            server = None
            while not self._is_over(ticket) and (server := self._admit(ticket)) is None:
                self._wake.wait(_LOOK_SECONDS if len(self._servers) > 1 else None)
            self._waiting.remove(ticket)
            if server is not None:
                self._turns.begin(ticket)
                ticket.has_begun = True
                server.active.append(ticket)
                self._remember(ticket, server)
            # The next waiting call may be admitted now too.
            self._wake.notify_all()
            return server

    def leave(self, ticket: QueueTicket) -> None:
        """End a call's admission."""
        with self._wake:
            for server in self._servers:
                if ticket in server.active:
                    server.active.remove(ticket)
            self._wake.notify_all()

    def can_move(self, ticket: QueueTicket) -> bool:
        """Return whether there is another server for a call that failed on those that it avoids."""
        return any(one.is_usable() and one not in ticket.avoided for one in self._servers)

    def wake_waiting(self) -> None:
        """Make the waiting calls check their stop flags and the servers."""
        with self._wake:
            self._wake.notify_all()

    def close(self) -> None:
        """Cancel all calls, and admit none from now on."""
        with self._wake:
            self._closed = True
            for ticket in self.active:
                ticket.cancel()
            self._wake.notify_all()

    @property
    def closed(self) -> bool:
        """Return whether no call is admitted any more."""
        return self._closed

    def _is_over(self, ticket: QueueTicket) -> bool:
        return self._closed or ticket.stop.is_set()

    def _admit(self, ticket: QueueTicket) -> ServerPlaces | None:
        if self._turns.find_next(self._waiting) is not ticket:
            return None
        server = self._choose(ticket)
        if server is None:
            return None
        lower = [other for other in server.active if other.lane > ticket.lane]
        for other in lower:
            if not other.has_output and not other.preempted:
                other.preempt()
        return None if lower else server

    def _choose(self, ticket: QueueTicket) -> ServerPlaces | None:
        """Return the server for a call, None where all are full; calls of lower lanes make room."""
        usable = [one for one in self._servers if one.is_usable()]
        # Where all servers fail, calls try them, and report why.
        usable = usable or [one for one in self._servers if one.is_known()]
        usable = [one for one in usable if one not in ticket.avoided] or usable
        open_ = [
            one
            for one in usable
            if all(other.lane >= ticket.lane for other in one.active)
            and one.count(ticket.lane) < one.capacity
        ]
        if (kept := self._prefixes.get((ticket.owner, ticket.prefix))) in open_:
            return kept
        return min(open_, key=lambda one: self._rank(ticket, one), default=None)

    def _rank(self, ticket: QueueTicket, server: ServerPlaces) -> tuple[bool, float, bytes]:
        """Return what is lower for a better server. Equally busy ones are ranked alike in all processes."""
        same = server.count(ticket.lane)
        choice = hashlib.blake2b(f"{ticket.prefix}\0{server.name}".encode(), digest_size=8).digest()
        return (len(server.active) > same, same / server.capacity, choice)

    def _remember(self, ticket: QueueTicket, server: ServerPlaces) -> None:
        key = (ticket.owner, ticket.prefix)
        self._prefixes[key] = server
        self._prefixes.move_to_end(key)
        if len(self._prefixes) > _REMEMBERED_PREFIXES:
            self._prefixes.popitem(last=False)
