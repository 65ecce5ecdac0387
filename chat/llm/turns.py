"""Whose turn it is: requests are served by lane, then round robin by owner, then first come, first served.

An owner is a string that is only compared. No owner waits for more than one request of each other owner in
the same lane, however many the other one has.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

# Owners whose last turn is remembered; one that is not remembered counts as one that had no turn yet.
_REMEMBERED_OWNERS = 10_000


class Waiting(Protocol):
    """A request that waits: its lane (a lower number goes first), its owner, and its place by arrival.

    `has_begun` is true for a request that was interrupted: its owner's turn is not over.
    """

    @property
    def lane(self) -> int:
        """Return the lane."""
        ...

    @property
    def owner(self) -> str:
        """Return the owner."""
        ...

    @property
    def ticket(self) -> float:
        """Return the place of the request in the order of arrival: a later one has a higher number."""
        ...

    @property
    def has_begun(self) -> bool:
        """Return whether the turn of the request has begun already."""
        ...


Request = TypeVar("Request", bound=Waiting)


class Turns:
    """Remembers in each lane when each owner last had a turn. The caller holds a lock."""

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[int, str], int] = OrderedDict()
        self._count = 0

    def find_next(self, waiting: Iterable[Request]) -> Request | None:
        """Return the request whose turn is next, None where nothing waits."""
        return min(waiting, key=self._rank, default=None)

    def begin(self, request: Waiting) -> None:
        """Note that a request's turn begins; for one that was interrupted, this is the same turn."""
        if request.has_begun:
            return
        key = (request.lane, request.owner)
        self._last[key] = self._count
        self._last.move_to_end(key)
        self._count += 1
        self._forget_one()

    def find_last(self, request: Waiting) -> int:
        """Return the number of the last turn of a request's owner in its lane, -1 where it had none."""
        return self._last.get((request.lane, request.owner), -1)

    def learn(self, request: Waiting, last: int) -> None:
        """Record the last turn of a request's owner that another process has reported, if it is later."""
        if last > self.find_last(request):
            key = (request.lane, request.owner)
            self._last[key] = last
            self._last.move_to_end(key)
            self._count = max(self._count, last + 1)
            self._forget_one()

    def order(self, waiting: Iterable[Request]) -> Sequence[Request]:
        """Return the requests in the order in which they will be served if no others come."""
        later = _Rounds(self._last)
        ordered = sorted(waiting, key=lambda one: (one.lane, not one.has_begun, one.ticket))
        ranked = [(one.lane, not one.has_begun, *later.place(one), one.ticket) for one in ordered]
        return [one for _, one in sorted(zip(ranked, ordered, strict=True), key=lambda pair: pair[0])]

    def _forget_one(self) -> None:
        if len(self._last) > _REMEMBERED_OWNERS:
            self._last.popitem(last=False)

    def _rank(self, request: Waiting) -> tuple[int, bool, int, float]:
        last = 0 if request.has_begun else self.find_last(request)
        return (request.lane, not request.has_begun, last, request.ticket)


class _Rounds:
    """Counts in which round each request of an owner is served, and at which place in it."""

    def __init__(self, last: OrderedDict[tuple[int, str], int]) -> None:
        self._last = last
        self._rounds: Counter[tuple[int, str]] = Counter()
        self._first: dict[tuple[int, str], tuple[int, float]] = {}

    def place(self, request: Waiting) -> tuple[int, int, float]:
        """Return the round and the owner's place in it; call it in order of arrival."""
        if request.has_begun:
            return (0, 0, 0)
        key = (request.lane, request.owner)
        place = self._first.setdefault(key, (self._last.get(key, -1), request.ticket))
        number = self._rounds[key]
        self._rounds[key] += 1
        return (number, *place)
