"""The provider for a model on servers that speak OpenAI's protocol: llama-server, vLLM, Ollama and others.

Several servers of one model are a pool: each call goes to one of them, and to another one where that fails
before its first token.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from chat.errors import (
    ConnectionLost,
    FormatNotKept,
    ModelNotReady,
    PromptTooLong,
    ProviderError,
    ServerAway,
    ServerBusy,
    ServerRefused,
    Unfinished,
)
from chat.llm import meter
from chat.llm.model_status import shorten_model_name
from chat.llm.types import Completion, GenerationOptions, Lane, Turn

from .address import Address
from .constrained import add_format_reminder
from .protocol import Capabilities, RemoteCall, RemoteStream
from .scheduling import CallQueue, QueueTicket
from .server import ModelServer
from .server_use import ServerUse
from .transport import Timeouts

T = TypeVar("T")
# Seconds before a failed call is attempted again; the health monitor handles longer outages.
_PAUSES = (0.5, 2.0)
# Errors that concern a server and not the request, so that another server may answer.
_FAULTS_OF_SERVER = {
    *("server-key-refused", "server-model-unknown", "server-moved", "server-no-credit"),
    "server-not-a-model-server",
}


class RemoteProvider:
    """One model on one or more servers. Methods raise ModelNotReady until a `connect` has succeeded."""

    remote = True

    def __init__(
        self,
        *addresses: Address,
        key: str = "",
        timeouts: Timeouts | None = None,
        use: ServerUse | None = None,
    ) -> None:
        use = use or ServerUse()
        self.name = use.model
        self.context_window = use.window
        self._lock = threading.Lock()
        self.servers = [
            ModelServer(address, key, use, timeouts or Timeouts(), self._accept) for address in addresses
        ]
        self._queue = CallQueue([server.places for server in self.servers], use.share)

    def connect(self) -> Capabilities:
        """Probe all servers and return what the first of those that answer can do.

        Raises the ProviderError of the first one where none can be used.
        """
        for server in self.servers:
            try:
                server.connect()
            except ProviderError:
                continue
        self.note_change()
        return self.found

    def note_change(self) -> None:
        """Note that a server was connected or has failed."""
        usable = [server.found for server in self._usable() if server.found is not None]
        if usable:
            self.name, self.context_window = usable[0].model, min(one.window for one in usable)
        self._queue.wake_waiting()

    def _accept(self, server: ModelServer, found: Capabilities) -> None:
        """Raise ProviderError where a server has another model than one before it in the list."""
        with self._lock:
            place = self.servers.index(server)
            for before in self.servers[:place]:
                if before.found is not None and not _is_same_model(before.found, found):
                    # Under the lock: the monitor of a server that connects next must see it.
                    server.found = None
                    server.problem = ProviderError(
                        "server-other-model",
                        host=server.address.host,
                        model=shorten_model_name(found.model),
                        wanted=shorten_model_name(before.found.model),
                    )
                    raise server.problem
            server.found = found
            for after in self.servers[place + 1 :]:
                if after.found is not None and not _is_same_model(after.found, found):
                    after.needs_reconnect.set()

    @property
    def host(self) -> str:
        """Return the hosts on which the model runs, separated by commas."""
        return ", ".join(dict.fromkeys(server.host for server in self.servers))

    @property
    def can_reason(self) -> bool:
        """Return whether the model can reason before a reply, or leave that out."""
        return any(server.found is not None and server.found.can_reason for server in self._usable())

    @property
    def places(self) -> int:
        """Return how many replies the servers write at the same time."""
        return sum(server.places.capacity for server in self._usable()) or 1

    def _usable(self) -> list[ModelServer]:
        """Return the servers that work, or where none does those that once did."""
        working = [server for server in self.servers if server.is_usable()]
        return working or [server for server in self.servers if server.found is not None]

    @property
    def found(self) -> Capabilities:
        """Return what the first server that works can do; raises why there is none."""
        for server in self._usable():
            if server.found is not None and server.problem is None:
                return server.found
        raise self.servers[0].problem or ModelNotReady("server-unreachable")

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        """Return the length of a prompt in tokens: the server's count, or an estimate."""
        return self._count(lambda server: server.count_tokens(turns))

    def count_text(self, text: str) -> int:
        """Return the length of a text in tokens: the server's count, or an estimate."""
        return self._count(lambda server: server.count_text(text))

    def _count(self, count: Callable[[ModelServer], T]) -> T:
        """Return the count of the first server that works, so that it is the same each time."""
        while True:
            usable = self._usable()
            if not usable:
                raise ModelNotReady("server-unreachable")
            try:
                return count(usable[0])
            except (ServerAway, ServerBusy) as problem:
                usable[0].note_outage(problem)
                if not any(server.is_usable() for server in self.servers):
                    raise

    def stream(self, turns: Sequence[Turn], options: GenerationOptions) -> RemoteStream:
        """Begin a reply; the request is sent when the iteration begins."""
        return RemoteStream(RemoteCall(turns, options), self._pieces)

    def complete(self, turns: Sequence[Turn], options: GenerationOptions) -> Completion:
        """Return a whole answer.

        Raises Unfinished, and FormatNotKept when the second attempt breaks the format too.
        """
        call = RemoteCall(turns, options, background=True)
        for _ in range(2):
            text = self._collect(call)
            if call.finish == "cancelled":
                raise Unfinished(call.usage)
            answer = text if call.constraint is None else call.constraint.extract_answer(text, call.finish)
            if answer is not None:
                return Completion(answer, call.finish, call.usage)
            call.turns = add_format_reminder(turns)
        raise FormatNotKept(call.usage)

    def _collect(self, call: RemoteCall) -> str:
        try:
            return "".join(self._pieces(call))
        except ProviderError as problem:
            problem.usage = call.usage
            raise

    def forget(self, slots: Collection[str] | None, *, keep: Mapping[str, Sequence[Turn]]) -> None:
        """Free the servers' slots of these conversations, None for all.

        The servers' own caches cannot be deleted from here.
        """
        for server in self.servers:
            server.forget(slots)

    def close(self) -> None:
        """Cancel all calls: a reply keeps its text, a whole answer raises Unfinished."""
        self._queue.close()
        for server in self.servers:
            server.transport.close()

    # -- one call -------------------------------------------------------------------------------------------

    def _pieces(self, call: RemoteCall) -> Iterator[str]:
        tokens = self.count_tokens(call.turns)
        known = [server.found for server in self._usable() if server.found is not None]
        if tokens + call.options.max_tokens > min(max(one.window, one.offered) for one in known):
            raise PromptTooLong("conversation-too-long")
        call.usage.prompt_tokens = tokens
        options = call.options
        ticket = QueueTicket(options.lane, call.stop, options.owner, options.slot)
        call.stop.on_set(partial(self._handle_stop, ticket))
        tries = 0
        while (server := self._enter(ticket)) is not None:
            call.announce_begin()
            began = time.monotonic()
            pause = 0.0
            worked = True
            try:
                pieces: Iterable[str] = server.attempt(call, ticket, lambda: self._queue.closed)
                if call.background:
                    # Collect the text first: a pre-empted attempt is repeated, and its text must not be kept.
                    pieces = list(pieces)
                if not (call.background and ticket.preempted):
                    yield from pieces
                if not ticket.preempted:
                    self._note_answer(ticket, server)
                    return
            except ProviderError as problem:
                # An unreachable or busy server does not work on the call; a silent one may.
                worked = not isinstance(problem, ServerAway | ServerBusy) or problem.code == "server-silent"
                adapted = isinstance(problem, ServerRefused) and server.adapts(call, problem)
                if not adapted and not self._moves(ticket, server, problem):
                    pause = self._find_pause(server, problem, tries)
                    tries += 1
            finally:
                self._queue.leave(ticket)
                self._record_work(call, time.monotonic() - began if worked else 0.0)
            if pause and call.stop.wait(min(pause, 10.0)):
                break
        call.finish = "cancelled"

    def _enter(self, ticket: QueueTicket) -> ModelServer | None:
        places = self._queue.enter(ticket)
        return next((server for server in self.servers if server.places is places), None)

    def _moves(self, ticket: QueueTicket, server: ModelServer, problem: ProviderError) -> bool:
        """Return whether another server is asked after this failure; the failing one is left out then."""
        is_away = isinstance(problem, ServerAway | ConnectionLost) or problem.code in _FAULTS_OF_SERVER
        is_refusal = isinstance(problem, ServerRefused) and problem.status >= 500
        if ticket.has_output or not (is_away or is_refusal or isinstance(problem, ServerBusy)):
            return False
        ticket.avoided.append(server.places)
        if not self._queue.can_move(ticket):
            return False
        if not is_refusal:
            # After a refusal it is left out only if another server answers: the request may be to blame.
            server.note_failure(seconds=getattr(problem, "after", 0.0))
        if is_away:
            server.note_outage(problem)
        return True

    def _find_pause(self, server: ModelServer, problem: ProviderError, tries: int) -> float:
        """Return after how many seconds a call is attempted again that no other server takes.

        Raises the problem where it is not.
        """
        if not isinstance(problem, ServerAway | ServerBusy):
            if isinstance(problem, ConnectionLost):
                server.note_outage(problem)
            raise problem
        if tries == len(_PAUSES) or problem.code == "server-silent":
            server.note_outage(problem)
            raise problem
        return max(_PAUSES[tries], getattr(problem, "after", 0.0))

    def _note_answer(self, ticket: QueueTicket, answering: ModelServer) -> None:
        """Leave those servers out that failed on a request which another one has answered."""
        for server in self.servers:
            if server is not answering and server.places in ticket.avoided and server.is_usable():
                server.note_failure()

    def _handle_stop(self, ticket: QueueTicket) -> None:
        ticket.cancel()
        self._queue.wake_waiting()

    def _record_work(self, call: RemoteCall, seconds: float) -> None:
        call.usage.worked_seconds += seconds
        call.usage.seconds = time.monotonic() - call.began_monotonic
        if call.options.lane is Lane.BACKGROUND:
            # Metered like a local model: a server's time may cost money, and others may wait for it.
            meter.background.add(seconds, call.options.owner)


def _is_same_model(one: Capabilities, other: Capabilities) -> bool:
    """Return whether two servers name the same model; a folder before a file's name may differ."""
    return shorten_model_name(one.model) == shorten_model_name(other.model)
