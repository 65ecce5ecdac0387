"""The calls that other processes have at the same model servers, and those that wait there."""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit
from uuid import uuid4

from chat.llm.turns import Turns
from memoryapp.base.provider import is_loopback

from .server_places import OtherCall

# What JSON can hold of one call.
Record = list[Any]


class SharedList(Protocol):
    """A list of records that the other processes are told, and theirs; see `memoryapp.base.announcements`."""

    def announce(self) -> None:
        """Send this process's current list to the other processes."""
        ...

    def list_others(self) -> list[Record]:
        """Return the records of all other processes."""
        ...

    def close(self) -> None:
        """Stop listening."""
        ...


# Makes a list from its name, what reads this process's part, and what is called when another part changes.
ShareList = Callable[[str, Callable[[], list[Record]], Callable[[], None]], SharedList]


class SharedCalls:
    """Sends other processes the calls that this process runs or holds waiting, and returns their calls.

    `read` returns the records of this process's calls, made by `describe`. `on_change` is called when those
    of another process have changed. Without `share` no other process is known.
    """

    def __init__(
        self,
        servers: Iterable[str],
        read: Callable[[], list[Record]],
        on_change: Callable[[], None],
        share: ShareList | None,
    ) -> None:
        names = "\0".join(sorted(servers))
        pool = hashlib.blake2b(names.encode(), digest_size=8).hexdigest()
        self._list = share(f"calls {pool}", read, on_change) if share else None

    def announce(self) -> None:
        """Send the other processes the list of this process's calls."""
        if self._list:
            self._list.announce()

    def close(self) -> None:
        """Stop listening; the others forget this process's calls."""
        if self._list:
            self._list.close()

    def list_calls(self, turns: Turns) -> Sequence[OtherCall]:
        """Return the calls of other processes, and let `turns` learn who had the last turns there."""
        now = time.monotonic()
        calls = []
        for number, lane, owner, age, has_begun, is_active, server, last in (
            self._list.list_others() if self._list else ()
        ):
            call = OtherCall(number, lane, owner, now - age, has_begun, is_active, server)
            turns.learn(call, last)
            calls.append(call)
        return calls


def describe(call: OtherCall, turns: Turns) -> Record:
    """Return the record of a call of this process."""
    age = time.monotonic() - call.ticket
    last = turns.find_last(call)
    return [call.number, call.lane, call.owner, age, call.has_begun, call.is_active, call.server, last]


def make_number() -> str:
    """Return an identifier for a new call, unique among all processes."""
    return uuid4().hex[:16]


def name_server(api: str) -> str:
    """Return the name of a server for all processes: an address of this machine is another one elsewhere."""
    return f"{socket.gethostname()} {api}" if is_loopback(urlsplit(api).netloc) else api
