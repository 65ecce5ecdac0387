"""One call of a server: what it asks, in the words that this server takes, and what has become of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from chat.llm.sanitize import break_control_tokens
from chat.llm.types import Finish, Lane, StopFlag, Turn, Usage

from .bound import Bound
from .capabilities import Capabilities
from .events import Json


@dataclass(eq=False)
class Request:
    """One call and what has become of it."""

    turns: Sequence[Turn]
    slot: str
    lane: Lane
    max_tokens: int
    temperature: float
    stop: StopFlag
    bound: Bound | None = None
    background: bool = False
    usage: Usage = field(default_factory=Usage)
    finish: Finish = "stop"
    began: float = field(default_factory=time.monotonic)

    def note_word(self) -> None:
        """Note when a word of it came, and when the first one did."""
        self.usage.seconds = time.monotonic() - self.began
        if self.usage.first_token_seconds is None:
            self.usage.first_token_seconds = self.usage.seconds


class RemoteStream:
    """Text of one reply as it comes; the server is asked when the iteration begins."""

    def __init__(self, request: Request, pieces: Callable[[Request], Iterator[str]]) -> None:
        self._request = request
        self._pieces = pieces

    @property
    def usage(self) -> Usage:
        """Return what the reply has cost so far."""
        return self._request.usage

    @property
    def finish(self) -> Finish:
        """Return why the reply ended."""
        return self._request.finish

    def __iter__(self) -> Iterator[str]:
        return self._pieces(self._request)


def body_of(request: Request, found: Capabilities, seat: int | None) -> Json:
    """Return the body of a chat request; `seat` is the place whose cache it continues, if any."""
    room = request.max_tokens + (request.bound.room if request.bound else 0)
    body: Json = {
        "model": found.model,
        "messages": messages_for(found, request.turns),
        "max_tokens": room + (found.manner.thinking if found.thinks else 0),
        "temperature": request.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if found.kind == "llama-server":
        body["cache_prompt"] = True
        if seat is not None:
            body["id_slot"] = seat
    if request.bound is not None:
        body |= request.bound.extra
    return found.manner.worded(body)


def messages_for(found: Capabilities, turns: Sequence[Turn]) -> list[Json]:
    """Return turns as every template takes them, with no control token in anybody's text."""
    merged: list[Turn] = []
    for turn in turns:
        role = "user" if turn.role == "system" and not found.takes_system else turn.role
        if merged and merged[-1].role == role:
            merged[-1] = Turn(role, f"{merged[-1].content}\n\n{turn.content}")
        else:
            merged.append(Turn(role, turn.content))
    return [{"role": t.role, "content": break_control_tokens(t.content, found.marks)} for t in merged]
