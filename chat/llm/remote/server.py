"""One server of a model: what the probe found, whether it works, and one attempt of a call on it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from chat.errors import ConnectionLost, ModelNotReady, ProviderError, ServerRefused
from chat.llm.reasoning import ReasoningSeparator
from chat.llm.roles import uses_optional_roles
from chat.llm.types import Turn

from .address import Address
from .constrained import build_constraint
from .counting import RemoteTokenCounter
from .events import (
    Json,
    SurrogateDecoder,
    get_choice,
    get_message,
    get_reasoning,
    get_text,
    record_usage,
)
from .failure_rest import FailureRest
from .findings import ServerFindings
from .protocol import Capabilities, RemoteCall, build_body, build_messages, separates_owners
from .scheduling import QueueTicket
from .server_places import ServerPlaces
from .server_use import ServerUse
from .shared_calls import name_server
from .slots import SlotPool, SlotUse
from .transport import Timeouts, Transport

logger = logging.getLogger(__name__)

# Ends the reply of a server that ignores `max_tokens`: no tokenizer has longer tokens on average.
_CHARACTERS_A_TOKEN = 40


class ModelServer:
    """One server. Callable from any thread.

    `needs_reconnect` is set when it cannot be reached or answers as another model; its monitor then calls
    `connect` again. `problem` is why the last attempt to connect failed. `accept` raises ProviderError where
    the found model is not the one of the pool.
    """

    def __init__(
        self,
        address: Address,
        key: str,
        use: ServerUse,
        timeouts: Timeouts,
        accept: Callable[[ModelServer, Capabilities], None],
    ) -> None:
        self.address = address
        self.use = use
        self.found: Capabilities | None = None
        self.problem: ProviderError | None = None
        self.needs_reconnect = threading.Event()
        self.transport = Transport(address, key, timeouts)
        self.places = ServerPlaces(name_server(address.api), self._is_known, self.is_usable)
        self._accept = accept
        self._slots = SlotPool(several_owners=use.several_owners)
        self._counter = RemoteTokenCounter(self.transport, lambda turns: build_messages(self.known(), turns))
        self._rest = FailureRest()
        self._findings = ServerFindings(self.transport, use.model, use.window, use.known_servers)

    def connect(self) -> Capabilities:
        """Find what the server can do, and use that from now on; raises ProviderError."""
        try:
            self.use.check_program(self.address)
            found = self._findings.find(afresh=False)
            # Before `accept`: from then on, the connecting of another server may ask for another probe.
            self.needs_reconnect.clear()
            self._accept(self, found)
        except ProviderError as problem:
            self.problem = problem
            raise
        self._begin_use(found)
        return found

    def verify(self) -> bool:
        """Probe a server that is used by what an earlier version of it could do; return whether it was one.

        Raises ProviderError, and leaves the server in use then.
        """
        if not self._findings.is_provisional:
            return False
        found = self._findings.find(afresh=True)
        self._accept(self, found)
        self._begin_use(found)
        return True

    def _begin_use(self, found: Capabilities) -> None:
        is_llama_server = found.kind == "llama-server"
        places = self.use.places or found.slots
        self._counter.forget()
        self._slots.reset(found.slots if is_llama_server else 0)
        self.places.capacity = min(places, found.slots) if is_llama_server else places
        self._rest.end()
        self._findings.begin_use()
        self.found, self.problem = found, None

    @property
    def host(self) -> str:
        """Return where the model runs: this server's host, or the one that it sends prompts to."""
        return (self.found and self.found.forwards_to) or self.address.host

    def known(self) -> Capabilities:
        """Return what the probe found; raises why there is nothing yet."""
        if self.found is None:
            raise self.problem or ModelNotReady("server-unreachable")
        return self.found

    def _is_known(self) -> bool:
        return self.found is not None

    def is_usable(self) -> bool:
        """Return whether calls go to this server: it was probed, and has not failed since."""
        is_connected = self.found is not None and self.problem is None and not self.needs_reconnect.is_set()
        return is_connected and self._rest.is_over

    def note_failure(self, *, seconds: float = 0.0) -> None:
        """Leave the server out for a while, longer after each outage, and at least for `seconds`."""
        self._rest.note_failure(seconds=seconds)
        logger.warning("the model's server at %s is left out for a while", self.address.host)

    def note_outage(self, problem: ProviderError) -> None:
        """Let the monitor connect again, with a new probe where the server answered, but not as it should."""
        is_outage = isinstance(problem, ModelNotReady | ConnectionLost) and problem.code != "server-silent"
        if is_outage:
            self.needs_reconnect.set()
        else:
            self.ask_for_probe()

    def ask_for_probe(self) -> None:
        """Let the monitor probe the server again."""
        self._findings.forget()
        self.needs_reconnect.set()

    def explain(self) -> ProviderError | None:
        """Return why the server is not used, None while it is used or was not tried yet."""
        if self.problem is not None:
            return self.problem
        return None if self.is_usable() or self.found is None else ProviderError("server-left-out")

    def is_reachable(self) -> bool:
        """Return whether the server still answers; requests only its list of models."""
        try:
            self.use.check_program(self.address)
            self.transport.get(f"{self.address.api}/models")
        except ProviderError as problem:
            return not (isinstance(problem, ModelNotReady) or problem.code == "server-other-program")
        return True

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        """Return the length of a prompt in tokens: the server's count, or an estimate."""
        try:
            return self._counter.count_turns(self.known(), turns)
        except ServerRefused as refusal:
            self._use_plain_roles(turns, refusal)
            return self._counter.count_turns(self.known(), turns)

    def count_text(self, text: str) -> int:
        """Return the length of a text in tokens: the server's count, or an estimate."""
        return self._counter.count_text(self.known(), text)

    def forget(self, names: Collection[str] | None) -> None:
        """Free the slots of these conversations, None for all."""
        self._slots.forget(names)

    # -- one attempt ----------------------------------------------------------------------------------------

    def attempt(self, call: RemoteCall, ticket: QueueTicket, is_closed: Callable[[], bool]) -> Iterator[str]:
        """Send the call and yield its text; raises ProviderError. The queue has admitted the ticket here."""
        found = call.found = self.known()
        grammar = call.options.grammar if call.background else None
        call.constraint = None if grammar is None else build_constraint(found, grammar)
        slot = SlotUse(None, may_reuse=True)
        if found.kind == "llama-server":
            options = call.options
            slot = self._slots.take(options.slot, options.owner, background=call.background)
        body = build_body(call, found, slot, self.use.salt_key)
        try:
            yield from self._read(call, ticket, body, is_closed)
        finally:
            self._slots.give_back(slot)
        self._rest.note_answer()
        self._findings.confirm()

    def _read(
        self, call: RemoteCall, ticket: QueueTicket, body: Json, is_closed: Callable[[], bool]
    ) -> Iterator[str]:
        found = call.found
        stream = self.transport.stream(f"{self.address.api}/chat/completions", body)
        ticket.set_cancel(stream.cancel)
        call.finish, call.usage.completion_tokens, call.usage.reasoning_tokens = "stop", 0, 0
        separator, decoder = ReasoningSeparator(found.opened_reasoning_tag), SurrogateDecoder()
        aside_decoder = SurrogateDecoder()
        limit, has_reasoned, written, pieces = call.options.max_tokens, False, 0, 0
        try:
            for event in stream:
                if call.stop.is_set() or ticket.preempted or is_closed():
                    break
                aside, text = self._read_event(event, call, found)
                aside = aside_decoder.take(aside)
                before, piece = separator.take(decoder.take(text))
                call.usage.reasoning_tokens += bool(aside or before)
                has_reasoned = has_reasoned or bool(aside or separator.found)
                call.options.announce_reasoning(aside + before)
                if piece:
                    call.record_piece()
                    ticket.has_output = not call.background
                    written, pieces = written + len(piece), pieces + 1
                    yield piece
                # The server counts the reasoning too, for which it was allowed more.
                if written > limit * _CHARACTERS_A_TOKEN or (has_reasoned and pieces >= limit):
                    call.finish = "length"
                    break
        finally:
            ticket.set_cancel(None)
            stream.cancel()
        if call.stop.is_set() or is_closed():
            call.finish = "cancelled"
        elif not ticket.preempted:
            before, rest = separator.finish()
            call.options.announce_reasoning(before)
            if rest:
                written += len(rest)
                yield rest
            if not written and (has_reasoned or found.writes_reasoning):
                raise ProviderError("server-no-reply")

    def _read_event(self, event: Json, call: RemoteCall, found: Capabilities) -> tuple[str, str]:
        """Update the call's usage and finish from an event; return its reasoning and its text."""
        record_usage(event, call.usage)
        use = self.use
        if use.several_owners and not separates_owners(found, several_processes=use.several_processes):
            call.usage.cached_tokens = 0
        model = event.get("model") or found.reported_model
        # Private servers only: a hosted router may name another model in each answer, and probing it costs
        # money.
        if found.reported_model and model != found.reported_model and self.address.private:
            self.ask_for_probe()
        if get_choice(event).get("finish_reason") == "length":
            call.finish = "length"
        message = get_message(event)
        text, aside = get_text(message), get_reasoning(message)
        call.usage.completion_tokens += bool(text or aside)
        return aside, text

    def adapts(self, call: RemoteCall, refusal: ServerRefused) -> bool:
        """Adapt the dialect or the roles to a refusal for later requests; return whether that is possible."""
        found = call.found
        if found is not self.found:
            # Another call has adapted it meanwhile, or it was probed again.
            return True
        body = build_body(call, found, SlotUse(0, may_reuse=True), self.use.salt_key)
        dialect = found.dialect.adapt_to(refusal, body)
        if dialect is not None:
            self._replace_found(found, replace(found, dialect=dialect))
            return True
        try:
            self._use_plain_roles(call.turns, refusal)
        except ServerRefused:
            return False
        return True

    def _use_plain_roles(self, turns: Sequence[Turn], refusal: ServerRefused) -> None:
        """Send tool calls and late system messages as text from now on: this order of them was not probed.

        Raises the refusal where they cannot be its cause.
        """
        found = self.known()
        plain = found.roles.without_optional_roles()
        may_be_roles = refusal.status in (400, 422) or "template" in refusal.text.lower()
        if found.roles == plain or not (may_be_roles and uses_optional_roles(turns)):
            raise refusal
        self._replace_found(found, replace(found, roles=plain))

    def _replace_found(self, found: Capabilities, adapted: Capabilities) -> None:
        if self.found is found:  # unless another probe has replaced it meanwhile
            self.found = adapted
            self._findings.adapt(adapted)
