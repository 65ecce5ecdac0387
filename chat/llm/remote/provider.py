"""The provider for a model on a server that speaks OpenAI's protocol: llama-server, vLLM, Ollama or a hosted
one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

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
from chat.llm.roles import uses_optional_roles
from chat.llm.types import Completion, GenerationOptions, Lane, Turn

from .address import Address
from .constrained import add_format_reminder, build_constraint
from .counting import RemoteTokenCounter
from .events import (
    Json,
    ReasoningFilter,
    SurrogateDecoder,
    get_choice,
    get_message,
    get_text,
    has_reasoning,
    record_usage,
)
from .protocol import Capabilities, RemoteCall, RemoteStream, build_body, build_messages, separates_owners
from .scheduling import CallQueue, QueueTicket, SlotPool
from .server_probe import probe
from .transport import Timeouts, Transport

logger = logging.getLogger(__name__)

# Seconds before a failed call is attempted again; the health monitor handles longer outages.
_PAUSES = (0.5, 2.0)
# Ends the reply of a server that ignores `max_tokens`: no tokenizer has longer tokens on average.
_CHARACTERS_A_TOKEN = 40


class RemoteProvider:
    """One model on one server. Methods raise ModelNotReady until `connect` has succeeded.

    `needs_reconnect` is set when the server cannot be reached or answers as another model; the health monitor
    then calls `connect` again. With `several_owners`, cached tokens are counted only on a server that
    separates their prefixes: elsewhere the count could tell what another owner wrote.
    """

    remote = True

    def __init__(
        self,
        address: Address,
        *,
        model: str = "",
        key: str = "",
        window: int = 0,
        timeouts: Timeouts | None = None,
        several_owners: bool = False,
    ) -> None:
        self.address = address
        self.name = model
        self.context_window = window
        self.needs_reconnect = threading.Event()
        self._wanted = (model, window)
        self._several_owners = several_owners
        self._found: Capabilities | None = None
        self._transport = Transport(address, key, timeouts or Timeouts())
        self._queue = CallQueue()
        self._slots = SlotPool()
        self._counter = RemoteTokenCounter(self._transport, self._build_messages)

    def connect(self) -> Capabilities:
        """Probe the server and use what it can do from now on; raises ProviderError."""
        try:
            found = probe(self._transport, *self._wanted)
        except ProviderError:
            raise
        except Exception as error:  # a server may answer with anything, in any shape
            logger.warning("the answer of the model server could not be parsed", exc_info=True)
            raise ProviderError("server-not-a-model-server") from error
        self._counter.forget()
        self._slots.count = found.slots if found.kind == "llama-server" else 0
        self._queue.capacity = found.slots
        self.name, self.context_window = found.model, found.window
        self._found = found
        self.needs_reconnect.clear()
        return found

    @property
    def places(self) -> int:
        """Return how many replies it writes at the same time."""
        return self._queue.capacity

    def is_reachable(self) -> bool:
        """Return whether the server still answers; requests only its list of models."""
        try:
            self._transport.get(f"{self.address.api}/models")
        except ModelNotReady:
            return False
        except ProviderError:
            return True
        return True

    @property
    def found(self) -> Capabilities:
        """Return the capabilities that the probe found; raises ModelNotReady before the first probe."""
        if self._found is None:
            raise ModelNotReady("server-unreachable")
        return self._found

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        """Return the length of a prompt in tokens: the server's count, or an estimate."""
        with self._noting_outage():
            try:
                return self._counter.count_turns(self.found, turns)
            except ServerRefused as refusal:
                self._use_plain_roles(turns, self.found, refusal)
                return self._counter.count_turns(self.found, turns)

    def count_text(self, text: str) -> int:
        """Return the length of a text in tokens: the server's count, or an estimate."""
        with self._noting_outage():
            return self._counter.count_text(self.found, text)

    def stream(self, turns: Sequence[Turn], options: GenerationOptions) -> RemoteStream:
        """Begin a reply; the request is sent when the iteration begins."""
        return RemoteStream(RemoteCall(turns, options), self._pieces)

    def complete(self, turns: Sequence[Turn], options: GenerationOptions) -> Completion:
        """Return a whole answer.

        Raises Unfinished, and FormatNotKept when the second attempt breaks the format too.
        """
        call = RemoteCall(turns, options, background=True)
        if options.grammar is not None:
            call.constraint = build_constraint(self.found, options.grammar)
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

    def forget(self, slots: Collection[str], *, keep: Mapping[str, Sequence[Turn]]) -> None:
        """Free the server's slots of these conversations.

        The server's own cache cannot be deleted from here.
        """
        self._slots.forget(slots)

    def close(self) -> None:
        """Cancel all calls: a reply keeps its text, a whole answer raises Unfinished."""
        self._queue.close()
        self._transport.close()

    # -- one call -------------------------------------------------------------------------------------------

    def _pieces(self, call: RemoteCall) -> Iterator[str]:
        found = self.found
        tokens = self.count_tokens(call.turns)
        if tokens + call.options.max_tokens > max(found.window, found.offered):
            raise PromptTooLong("conversation-too-long")
        call.usage.prompt_tokens = tokens
        ticket = QueueTicket(call.options.lane, call.stop, call.options.owner)
        call.stop.on_set(partial(self._handle_stop, ticket))
        tries = 0
        while self._queue.enter(ticket):
            call.announce_begin()
            began = time.monotonic()
            pause = 0.0
            worked = True
            try:
                pieces: Iterable[str] = self._attempt(call, ticket, found)
                if call.background:
                    # Collect the text first: a pre-empted attempt is repeated, and its text must not be kept.
                    written = list(pieces)
                    if ticket.preempted:
                        continue
                    yield from written
                    return
                yield from pieces
                if not ticket.preempted:
                    return
            except (ServerAway, ServerBusy) as problem:
                # An unreachable or busy server does not work on the call; a silent one may.
                worked = problem.code == "server-silent"
                if tries == len(_PAUSES) or problem.code == "server-silent":
                    self.needs_reconnect.set()
                    raise
                pause, tries = max(_PAUSES[tries], getattr(problem, "after", 0.0)), tries + 1
            except ServerRefused as refusal:
                found = self._adapt(call, found, refusal)
            except ConnectionLost:
                self.needs_reconnect.set()
                raise
            finally:
                self._queue.leave(ticket)
                self._record_work(call, time.monotonic() - began if worked else 0.0)
            if pause and call.stop.wait(min(pause, 10.0)):
                break
        call.finish = "cancelled"

    def _adapt(self, call: RemoteCall, found: Capabilities, refusal: ServerRefused) -> Capabilities:
        """Adapt the dialect or the roles to a refusal for all later requests.

        Raises the refusal where that is impossible.
        """
        dialect = found.dialect.adapt_to(refusal, self._build_body(call, found))
        if dialect is None:
            return self._use_plain_roles(call.turns, found, refusal)
        return self._replace_found(found, replace(found, dialect=dialect))

    def _use_plain_roles(
        self, turns: Sequence[Turn], found: Capabilities, refusal: ServerRefused
    ) -> Capabilities:
        """Send tool calls and late system messages as text from now on: this order of them was not probed.

        Raises the refusal where they cannot be its cause.
        """
        plain = found.roles.without_optional_roles()
        may_be_roles = refusal.status in (400, 422) or "template" in refusal.text.lower()
        if found.roles == plain or not (may_be_roles and uses_optional_roles(turns)):
            raise refusal
        return self._replace_found(found, replace(found, roles=plain))

    def _replace_found(self, found: Capabilities, adapted: Capabilities) -> Capabilities:
        if self._found is found:  # unless another probe has replaced it meanwhile
            self._found = adapted
        return adapted

    def _handle_stop(self, ticket: QueueTicket) -> None:
        ticket.cancel()
        self._queue.wake_waiting()

    def _record_work(self, call: RemoteCall, seconds: float) -> None:
        call.usage.worked_seconds += seconds
        call.usage.seconds = time.monotonic() - call.began_monotonic
        if call.options.lane is Lane.BACKGROUND:
            # Metered like a local model: a server's time may cost money, and others may wait for it.
            meter.background.add(seconds, call.options.owner)

    def _attempt(self, call: RemoteCall, ticket: QueueTicket, found: Capabilities) -> Iterator[str]:
        stream = self._transport.stream(f"{self.address.api}/chat/completions", self._build_body(call, found))
        ticket.set_cancel(stream.cancel)
        call.finish, call.usage.completion_tokens = "stop", 0
        reasoning, decoder = ReasoningFilter(opened=found.template_opens_reasoning), SurrogateDecoder()
        written = 0
        try:
            for event in stream:
                if call.stop.is_set() or ticket.preempted or self._queue.closed:
                    break
                piece = reasoning.take(decoder.take(self._read_event(event, call, found, reasoning)))
                if piece:
                    call.record_piece()
                    ticket.has_output = not call.background
                    written += len(piece)
                    yield piece
                if written > call.options.max_tokens * _CHARACTERS_A_TOKEN:
                    call.finish = "length"
                    break
        finally:
            ticket.set_cancel(None)
            stream.cancel()
        if call.stop.is_set() or self._queue.closed:
            call.finish = "cancelled"
        elif not ticket.preempted:
            if rest := reasoning.finish():
                written += len(rest)
                yield rest
            if not written and (reasoning.found or found.writes_reasoning):
                raise ProviderError("server-no-reply")

    def _read_event(
        self, event: Json, call: RemoteCall, found: Capabilities, reasoning: ReasoningFilter
    ) -> str:
        """Update the call's usage and finish from an event; return its text."""
        record_usage(event, call.usage)
        if self._several_owners and not separates_owners(found):
            call.usage.cached_tokens = 0
        model = event.get("model") or found.reported_model
        # Private servers only: a hosted router may name another model in each answer, and probing it costs
        # money.
        if found.reported_model and model != found.reported_model and self.address.private:
            self.needs_reconnect.set()
        if get_choice(event).get("finish_reason") == "length":
            call.finish = "length"
        message = get_message(event)
        reasoning.found = reasoning.found or has_reasoning(message)
        text = get_text(message)
        call.usage.completion_tokens += bool(text)
        return text

    def _build_body(self, call: RemoteCall, found: Capabilities) -> Json:
        slot = None
        if found.kind == "llama-server":
            slot = self._slots.assign(call.options.slot, background=call.background)
        return build_body(call, found, slot)

    def _build_messages(self, turns: Sequence[Turn]) -> list[Json]:
        return build_messages(self.found, turns)

    @contextmanager
    def _noting_outage(self) -> Iterator[None]:
        """Set `needs_reconnect` when a request finds that the server is unreachable or busy."""
        try:
            yield
        except (ServerAway, ServerBusy):
            self.needs_reconnect.set()
            raise
