"""A model on a server that speaks OpenAI's protocol: llama-server, vLLM, Ollama, hosted ones (design §4)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from chat.llm import meter
from chat.llm.types import (
    Completion,
    FormNotKept,
    Lane,
    ModelNotReady,
    PromptTooLong,
    ProviderError,
    StopFlag,
    Turn,
    Unfinished,
)

from . import troubles
from .address import Address
from .bound import bind, stricter
from .calls import RemoteStream, Request, body_of, messages_for
from .capabilities import Capabilities, probe
from .counting import Counter
from .events import Json, Letters, choice_of, is_thought, message_of, note_cost, text_of
from .lanes import Gate, Pass
from .seats import Seats
from .thinking import Thoughts
from .wire import Patience, Wire

logger = logging.getLogger(__name__)

# Pauses before a call that nothing came of is made again; who keeps in touch sits a longer outage out.
_PAUSES = (0.5, 2.0)
# A server that forgets to stop must not fill a conversation: no token of any tokenizer is longer on average.
_CHARACTERS_A_TOKEN = 40


class RemoteProvider:
    """One model on one server. Methods block; call them from worker threads.

    Nothing may be asked before `connect` has succeeded. `trouble` is set when the server was away, or answers
    as another model: whoever keeps in touch with it connects anew.
    """

    remote = True

    def __init__(
        self,
        address: Address,
        *,
        model: str = "",
        key: str = "",
        window: int = 0,
        patience: Patience | None = None,
    ) -> None:
        self.address = address
        self.name = model
        self.context_window = window
        self.trouble = threading.Event()
        self._wanted = (model, window)
        self._found: Capabilities | None = None
        self._wire = Wire(address, key, patience or Patience())
        self._gate = Gate()
        self._seats = Seats()
        self._counter = Counter(self._wire, self._messages)

    def connect(self) -> Capabilities:
        """Find out what the server can do, and use it so from now on; raises ProviderError."""
        try:
            found = probe(self._wire, *self._wanted)
        except ProviderError:
            raise
        except Exception as surprise:  # what is at an address may say anything, in any shape
            logger.warning("a server's answer made no sense", exc_info=True)
            raise ProviderError(troubles.NO_SENSE) from surprise
        self._counter.forget()
        self._seats.count = found.places if found.kind == "llama-server" else 0
        self._gate.places = found.places
        self.name, self.context_window = found.model, found.window
        self._found = found
        self.trouble.clear()
        return found

    def answers(self) -> bool:
        """Return whether the server still answers; cheap, and read by no model."""
        try:
            self._wire.get(f"{self.address.api}/models")
        except ModelNotReady:
            return False
        except ProviderError:
            return True
        return True

    @property
    def found(self) -> Capabilities:
        """Return what the probe found; raises ModelNotReady before there was one."""
        if self._found is None:
            raise ModelNotReady(troubles.AWAY)
        return self._found

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        """Return the prompt's length in tokens: the server's count, or four characters a token."""
        with self._watched():
            return self._counter.turns(self.found, turns)

    def count_text(self, text: str) -> int:
        """Return the length of a piece of text in tokens, as `count_tokens`."""
        with self._watched():
            return self._counter.text(self.found, text)

    def stream(
        self,
        turns: Sequence[Turn],
        *,
        slot: str,
        lane: Lane = Lane.CHAT,
        max_tokens: int = 1024,
        temperature: float = 0.7,
        stop: StopFlag | None = None,
    ) -> RemoteStream:
        """Begin an answer."""
        request = Request(turns, slot, lane, max_tokens, temperature, stop or StopFlag())
        return RemoteStream(request, self._pieces)

    def complete(
        self,
        turns: Sequence[Turn],
        *,
        slot: str,
        lane: Lane = Lane.BACKGROUND,
        max_tokens: int = 256,
        grammar: str | None = None,
        stop: StopFlag | None = None,
    ) -> Completion:
        """Return a whole answer at temperature 0. Raises Unfinished, and FormNotKept after a second try."""
        request = Request(turns, slot, lane, max_tokens, 0.0, stop or StopFlag(), background=True)
        if grammar is not None:
            request.bound = bind(self.found, grammar)
        for _ in range(2):
            text = self._whole(request)
            if request.finish == "cancelled":
                raise Unfinished(request.usage)
            answer = text if request.bound is None else request.bound.answer(text, request.finish)
            if answer is not None:
                return Completion(answer, request.finish, request.usage)
            request.turns = stricter(turns)
        raise FormNotKept(request.usage)

    def _whole(self, request: Request) -> str:
        try:
            return "".join(self._pieces(request))
        except ProviderError as problem:
            problem.usage = request.usage
            raise

    def forget(self, slots: Collection[str], *, keep: Mapping[str, Sequence[Turn]]) -> None:
        """Give up the places of these slots; what the server itself caches is the server's."""
        self._seats.forget(slots)

    def close(self) -> None:
        """End all calls: a reply keeps its text, a whole answer is Unfinished."""
        self._gate.close()
        self._wire.close()

    # -- one call -------------------------------------------------------------------------------------------

    def _pieces(self, request: Request) -> Iterator[str]:
        found = self.found
        tokens = self.count_tokens(request.turns)
        if tokens + request.max_tokens > max(found.window, found.offered):
            raise PromptTooLong(troubles.TOO_LONG)
        request.usage.prompt_tokens = tokens
        ticket = Pass(request.lane, request.stop)
        request.stop.on_set(partial(self._stopped, ticket))
        tries = 0
        while self._gate.enter(ticket):
            began = time.monotonic()
            pause = 0.0
            worked = True
            try:
                pieces: Iterable[str] = self._once(request, ticket, found)
                if request.background:
                    # An ousted try begins anew: nothing that it has written may stand before the next one's.
                    written = list(pieces)
                    if ticket.ousted:
                        continue
                    yield from written
                    return
                yield from pieces
                if not ticket.ousted:
                    return
            except (troubles.ServerAway, troubles.ServerBusy) as problem:
                # Who is away, or sends us away, does not work for us.
                worked = str(problem) == troubles.SILENT
                if tries == len(_PAUSES) or str(problem) == troubles.SILENT:
                    self.trouble.set()
                    raise
                pause, tries = max(_PAUSES[tries], getattr(problem, "after", 0.0)), tries + 1
            except troubles.Refusal as refusal:
                found = self._without_what_is_refused(request, found, refusal)
            except troubles.BrokenOff:
                self.trouble.set()
                raise
            finally:
                self._gate.leave(ticket)
                self._account(request, time.monotonic() - began if worked else 0.0)
            if pause and request.stop.wait(min(pause, 10.0)):
                break
        request.finish = "cancelled"

    def _without_what_is_refused(
        self, request: Request, found: Capabilities, refusal: troubles.Refusal
    ) -> Capabilities:
        """Word requests otherwise from now on; raises the refusal where that would not help."""
        manner = found.manner.after(refusal, self._body(request, found))
        if manner is None:
            raise refusal
        reworded = replace(found, manner=manner)
        if self._found is found:  # and not another probe's meanwhile
            self._found = reworded
        return reworded

    def _stopped(self, ticket: Pass) -> None:
        ticket.hang_up()
        self._gate.look_again()

    def _account(self, request: Request, seconds: float) -> None:
        request.usage.worked += seconds
        request.usage.seconds = time.monotonic() - request.began
        if request.lane is Lane.BACKGROUND:
            # Bounded like this machine's own: a server's time may be paid for, and others may wait for it.
            meter.background.add(seconds)

    def _once(self, request: Request, ticket: Pass, found: Capabilities) -> Iterator[str]:
        line = self._wire.stream(f"{self.address.api}/chat/completions", self._body(request, found))
        ticket.on_line(line.hang_up)
        request.finish, request.usage.completion_tokens = "stop", 0
        thoughts, letters = Thoughts(opened=found.opens_thought), Letters()
        written = 0
        try:
            for event in line:
                if request.stop.is_set() or ticket.ousted or self._gate.closed:
                    break
                piece = thoughts.take(letters.take(self._read(event, request, found, thoughts)))
                if piece:
                    request.note_word()
                    ticket.firm = not request.background
                    written += len(piece)
                    yield piece
                if written > request.max_tokens * _CHARACTERS_A_TOKEN:
                    request.finish = "length"
                    break
        finally:
            ticket.on_line(None)
            line.hang_up()
        if request.stop.is_set() or self._gate.closed:
            request.finish = "cancelled"
        elif not ticket.ousted:
            if rest := thoughts.rest():
                written += len(rest)
                yield rest
            if not written and (thoughts.any or found.thinks):
                raise ProviderError(troubles.NO_ANSWER)

    def _read(self, event: Json, request: Request, found: Capabilities, thoughts: Thoughts) -> str:
        """Take what an event tells of the call; return its text."""
        note_cost(event, request.usage)
        model = event.get("model") or found.answers_as
        # In the cloud a router may answer as another model each time, and each look at it is paid for.
        if found.answers_as and model != found.answers_as and self.address.private:
            self.trouble.set()
        if choice_of(event).get("finish_reason") == "length":
            request.finish = "length"
        message = message_of(event)
        thoughts.any = thoughts.any or is_thought(message)
        text = text_of(message)
        request.usage.completion_tokens += bool(text)
        return text

    def _body(self, request: Request, found: Capabilities) -> Json:
        seat = None
        if found.kind == "llama-server":
            seat = self._seats.of(request.slot, background=request.background)
        return body_of(request, found, seat)

    def _messages(self, turns: Sequence[Turn]) -> list[Json]:
        return messages_for(self.found, turns)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Note that the server is away when a plain request finds it so."""
        try:
            yield
        except (troubles.ServerAway, troubles.ServerBusy):
            self.trouble.set()
            raise
