"""Which call may use which model server now: by lanes as in the local engine, the least busy server first."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

from chat.llm.turns import Turns
from chat.llm.types import Lane, StopFlag

from .server_places import Call, OtherCall, ServerPlaces
from .shared_calls import Record, SharedCalls, ShareList, describe, make_number

# Conversations and background prompts whose server is remembered.
_REMEMBERED_PREFIXES = 10_000
# How often a waiting call looks whether a server that failed can be used again.
_LOOK_SECONDS = 1.0
# How long a call of another process, whose turn is next, may leave a free place unused. Then it is passed
# over: that process may have died, or may not reach the server.
_HOLD_SECONDS = 0.5


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
        # When it came, by the monotonic clock.
        self.ticket = time.monotonic()
        self.number = make_number()
        # The server whose calls of lower lanes must make room for it.
        self.wanted: ServerPlaces | None = None
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

    def as_other(self, is_active: bool, server: str) -> OtherCall:
        """Return the call as other processes see it."""
        return OtherCall(self.number, self.lane, self.owner, self.ticket, self.has_begun, is_active, server)

    def preempt(self) -> None:
        """Close the response in favour of a call of a higher lane."""
        self.preempted = True
        self.cancel()


class CallQueue:
    """Admits each call to one of several servers: the highest lane first, and owners in turns.

    A call goes to the server that has its prefix if there is a place, and else to the least busy one. It
    pre-empts the calls of lower lanes there, since a server divides its speed between its calls; see
    `ServerPlaces` for those that may stay. Calls of other processes count like those of this one. Callable
    from any thread.
    """

    def __init__(self, servers: Sequence[ServerPlaces], share: ShareList | None = None) -> None:
        self._wake = threading.Condition()
        self._servers = servers
        self._waiting: list[QueueTicket] = []
        self._turns = Turns()
        self._prefixes: OrderedDict[tuple[str, str], ServerPlaces] = OrderedDict()
        self._closed = False
        names = (one.name for one in servers)
        self._shared = SharedCalls(names, self._describe_calls, self._note_others, share)
        self._others_waiting: list[OtherCall] = []
        # The waiting calls of other processes that left a place unused: when that began, and whether they are
        # passed over.
        self._held_since: dict[str, float] = {}

    @property
    def active(self) -> list[QueueTicket]:
        """Return the calls of this process that are admitted now."""
        return [ticket for server in self._servers for ticket in server.active]

    def enter(self, ticket: QueueTicket) -> ServerPlaces | None:
        """Wait for admission, and pre-empt calls of lower lanes; returns the server to use.

        None when the call was stopped meanwhile.
        """
        with self._wake:
            ticket.preempted = False
            self._waiting.append(ticket)
            server = None
            told: tuple[ServerPlaces | None] | None = None
            while not self._is_over(ticket) and (server := self._admit(ticket)) is None:
                if told != (ticket.wanted,):
                    told = (ticket.wanted,)
                    self._shared.announce()
                self._wake.wait(self._find_pause())
                self._look_at_others()
            self._waiting.remove(ticket)
            ticket.wanted = None
            if server is not None:
                self._turns.begin(ticket)
                ticket.has_begun = True
                server.active.append(ticket)
                self._remember(ticket, server)
            # The next waiting call may be admitted now too.
            self._wake.notify_all()
        self._shared.announce()
        return server

    def leave(self, ticket: QueueTicket) -> None:
        """End a call's admission."""
        with self._wake:
            for server in self._servers:
                if ticket in server.active:
                    server.active.remove(ticket)
            self._wake.notify_all()
        self._shared.announce()

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
        self._shared.close()

    @property
    def closed(self) -> bool:
        """Return whether no call is admitted any more."""
        return self._closed

    def _is_over(self, ticket: QueueTicket) -> bool:
        return self._closed or ticket.stop.is_set()

    def _find_pause(self) -> float | None:
        """Return after how many seconds a waiting call looks again without being told."""
        if self._others_waiting:
            return _HOLD_SECONDS / 2
        # Time alone can admit it: a background call has waited a minute, a failed server works again, or the
        # calls of a killed process have expired.
        return _LOOK_SECONDS

    def _admit(self, ticket: QueueTicket) -> ServerPlaces | None:
        ticket.wanted = None
        if self._turns.find_next(self._waiting) is not ticket:
            return None
        server = self._choose(ticket)
        if server is None:
            self._held_since.clear()
        if server is None or self._is_held(ticket):
            return None
        in_the_way = server.list_in_the_way(ticket.lane)
        _preempt(in_the_way)
        if in_the_way:
            ticket.wanted = server
            return None
        return server

    def _is_held(self, ticket: QueueTicket) -> bool:
        """Return whether a free place is left to a call of another process whose turn is before this one."""
        now = time.monotonic()
        before = [one for one in self._others_waiting if self._turns.find_next((ticket, one)) is one]
        return any(now - self._held_since.setdefault(one.number, now) < _HOLD_SECONDS for one in before)

    def _choose(self, ticket: QueueTicket) -> ServerPlaces | None:
        """Return the server for a call, None where all are full; calls of lower lanes make room."""
        usable = [one for one in self._servers if one.is_usable()]
        # Where all servers fail, calls try them, and report why.
        usable = usable or [one for one in self._servers if one.is_known()]
        usable = [one for one in usable if one not in ticket.avoided] or usable
        open_ = [one for one in usable if one.has_room(ticket)]
        if (kept := self._prefixes.get((ticket.owner, ticket.prefix))) in open_:
            return kept
        return min(open_, key=lambda one: self._rank(ticket, one), default=None)

    def _rank(self, ticket: QueueTicket, server: ServerPlaces) -> tuple[bool, float, bytes]:
        """Return what is lower for a better server. Equally busy ones are ranked alike in all processes."""
        same = server.count(ticket.lane)
        choice = hashlib.blake2b(f"{ticket.prefix}\0{server.name}".encode(), digest_size=8).digest()
        return (len(server.calls) > same, same / server.capacity, choice)

    def _remember(self, ticket: QueueTicket, server: ServerPlaces) -> None:
        key = (ticket.owner, ticket.prefix)
        self._prefixes[key] = server
        self._prefixes.move_to_end(key)
        if len(self._prefixes) > _REMEMBERED_PREFIXES:
            self._prefixes.popitem(last=False)

    # -- calls of other processes ---------------------------------------------------------------------------

    def _describe_calls(self) -> list[Record]:
        with self._wake:
            calls = [one.as_other(True, server.name) for server in self._servers for one in server.active]
            calls += [one.as_other(False, one.wanted.name if one.wanted else "") for one in self._waiting]
            return [describe(call, self._turns) for call in calls]

    def _note_others(self) -> None:
        with self._wake:
            self._look_at_others()
            self._wake.notify_all()

    def _look_at_others(self) -> None:
        """Take over what other processes have told, and make room for those of their calls that need it."""
        calls = self._shared.list_calls(self._turns)
        self._others_waiting = [one for one in calls if not one.is_active]
        known = {one.number for one in self._others_waiting}
        self._held_since = {number: since for number, since in self._held_since.items() if number in known}
        for server in self._servers:
            server.elsewhere = [one for one in calls if one.is_active and one.server == server.name]
            for one in self._others_waiting:
                if one.server == server.name:
                    _preempt(server.list_in_the_way(one.lane))


def _preempt(calls: Sequence[Call]) -> None:
    """Pre-empt those of the calls that are of this process and have delivered no text yet."""
    for call in calls:
        if isinstance(call, QueueTicket) and not call.has_output and not call.preempted:
            call.preempt()
