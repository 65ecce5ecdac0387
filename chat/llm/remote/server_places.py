"""The places of one model server: the calls of all processes that it has, and which ones may join them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .scheduling import QueueTicket

# Calls of lower lanes may have this part of a server's places beside calls of a higher lane. A server with so
# many places computes all its calls in one batch, so a few more slow the others down little.
_SHARE_BESIDE = 1 / 8
# On a server with fewer places, which divides its speed, one call of a lower lane is let in beside the others
# after so many seconds: otherwise memory would learn nothing where somebody chats all the time.
PATIENCE_SECONDS = 60.0


class Call(Protocol):
    """What a server's places need to know of a call: its lane (a lower one goes first) and when it came."""

    @property
    def lane(self) -> int:
        """Return the lane."""
        ...

    @property
    def ticket(self) -> float:
        """Return when it came, in seconds of this process's monotonic clock."""
        ...


@dataclass(frozen=True, slots=True)
class OtherCall:
    """A call of another process. `server` is the one that has it or, while it waits, that must make room."""

    number: str
    lane: int
    owner: str
    ticket: float
    has_begun: bool
    is_active: bool
    server: str


@dataclass(eq=False)
class ServerPlaces:
    """One server as the queue sees it: its name, how many calls it takes at a time, and those it has.

    `active` are the calls of this process, `elsewhere` those of others. `is_known` is false until it was
    probed; `is_usable` also while it fails. `name` is the same in all processes.
    """

    name: str
    is_known: Callable[[], bool] = lambda: True
    is_usable: Callable[[], bool] = lambda: True
    capacity: int = 1
    active: list[QueueTicket] = field(default_factory=list)
    elsewhere: list[OtherCall] = field(default_factory=list)

    @property
    def calls(self) -> list[Call]:
        """Return all calls that it has."""
        return [*self.active, *self.elsewhere]

    def count(self, lane: int) -> int:
        """Return how many calls of a lane it has."""
        return sum(one.lane == lane for one in self.calls)

    def has_room(self, call: Call) -> bool:
        """Return whether a call may begin, once `list_in_the_way` has left."""
        if self.count(call.lane) >= self.capacity:
            return False
        if all(other.lane >= call.lane for other in self.calls):
            return True
        beside = sum(other.lane >= call.lane for other in self.calls)
        return len(self.calls) < self.capacity and self._may_be_beside(call, beside)

    def list_in_the_way(self, lane: int) -> list[Call]:
        """Return the calls of lower lanes that must make room for one of this lane: the oldest may stay."""
        lower = sorted((other for other in self.calls if other.lane > lane), key=lambda one: one.ticket)
        return [one for number, one in enumerate(lower) if not self._may_be_beside(one, number)]

    def _may_be_beside(self, call: Call, others: int) -> bool:
        """Return whether a call may be beside calls of a higher lane where `others` of lower lanes are."""
        if others < int(self.capacity * _SHARE_BESIDE):
            return True
        return not others and self.capacity > 1 and time.monotonic() - call.ticket > PATIENCE_SECONDS
