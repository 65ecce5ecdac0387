"""What identifies a request that sends a message, and what it saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chat.models import Message

from .reply_run import ReplyRun


@dataclass(frozen=True, slots=True)
class RequestKey:
    """What identifies a request that may come twice: a key ("" for none) and the bytes that it stands for.

    With `restart` the key counts from now on, whatever was made with it before.
    """

    key: str = ""
    request: bytes = b""
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Exchange:
    """The rows that a request saved, and their keys. If a reply was asked for, it is the last row.

    A `repeated` request has no rows, only the keys of what the first one saved.
    """

    keys: Sequence[str]
    saved: Sequence[Message]
    repeated: bool
    begun: ReplyRun | None = None

    @property
    def run(self) -> ReplyRun:
        """Return what writes the reply; raises LookupError where this request began none."""
        if self.begun is None:
            raise LookupError("this request began no reply")
        return self.begun

    @property
    def reply(self) -> Message:
        """Return the row of the reply; not of a repeated request."""
        return self.saved[-1]


NO_KEY = RequestKey()
