"""The default provider: llama.cpp in this process, behind the one engine thread."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import psutil

from .engine import Engine, Request
from .native import Native
from .parking import ParkingLot
from .sampler import Sampling
from .template import ChatTemplate
from .types import (
    Completion,
    Finish,
    Lane,
    ModelNotReady,
    PromptTooLong,
    ProviderError,
    StopFlag,
    Turn,
    Unfinished,
    Usage,
)

# Seats in the chat's context: the conversation that is being written and what is prepared beside it.
SEQUENCES = 4
# Cells beside two windows of conversation, for the background prompts (design §4).
BACKGROUND_CELLS = 4096
_GIB = 1024**3


def default_window() -> int:
    """Return the window in tokens: 8,192, or 4,096 on machines under 8 GiB (design §4)."""
    return 8192 if psutil.virtual_memory().total >= 7.5 * _GIB else 4096


def default_threads() -> int:
    """Return the number of physical cores that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(psutil.cpu_count(logical=False) or allowed, allowed))


class LlamaStream:
    """Text of one reply as it is written, a whole character at a time."""

    def __init__(self, request: Request, remember: Callable[[str, list[int]], None]) -> None:
        self._request = request
        self._remember = remember

    @property
    def usage(self) -> Usage:
        """Return what the reply has cost so far."""
        return self._request.usage

    @property
    def finish(self) -> Finish:
        """Return why the reply ended."""
        return self._request.finish

    def __iter__(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        text: list[str] = []
        for raw in self._request:
            if piece := decoder.decode(raw):
                text.append(piece)
                yield piece
        self._remember("".join(text), list(self._request.generated))


class LlamaProvider:
    """A GGUF model on this machine. Methods block; call them from worker threads.

    `first` is called with the model's file in the engine's thread before it is loaded; what it raises is why
    the model cannot be.
    """

    remote = False

    def __init__(
        self,
        name: str,
        path: Path,
        *,
        window: int,
        threads: int,
        on_error: Callable[[Exception], None],
        lot: ParkingLot | None = None,
        first: Callable[[Path], None] | None = None,
    ) -> None:
        self.name = name
        self.source = path, window
        self.context_window = self._longest = window
        self._native: Native | None = None
        self._template: ChatTemplate | None = None
        build = partial(self._build, path, window, threads, first)
        self.engine = Engine(
            build,
            background_cells=BACKGROUND_CELLS,
            lot=lot or ParkingLot(0),
            on_error=on_error,
        )

    def _build(self, path: Path, window: int, threads: int, first: Callable[[Path], None] | None) -> Native:
        if first is not None:
            first(path)
        native = Native(path, cells=2 * window, sequences=SEQUENCES, threads=threads)
        self.context_window = min(window, native.trained_context)
        # A background prompt may be longer than a small window, none longer than the model was trained on.
        self._longest = min(max(window, BACKGROUND_CELLS), native.trained_context)
        self._template = ChatTemplate(native)
        self._native = native
        return native

    def _loaded(self) -> tuple[Native, ChatTemplate]:
        if self._native is None or self._template is None:
            raise ModelNotReady("The model is still loading.")
        return self._native, self._template

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        """Return the prompt's length in tokens, by the model's own tokenizer and template."""
        return len(self._loaded()[1].tokens(turns))

    def count_text(self, text: str) -> int:
        """Return the length of a piece of text in tokens."""
        return self._loaded()[0].count(text)

    def stream(
        self,
        turns: Sequence[Turn],
        *,
        slot: str,
        lane: Lane = Lane.CHAT,
        max_tokens: int = 1024,
        temperature: float = 0.7,
        stop: StopFlag | None = None,
    ) -> LlamaStream:
        """Begin an answer that continues the slot's cached prefix."""
        request = self._submit(turns, slot, lane, max_tokens, Sampling(temperature), None, stop)
        return LlamaStream(request, self._loaded()[1].remember_reply)

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
        """Return a whole answer at temperature 0; among the background prompts. Raises Unfinished."""
        request = self._submit(turns, slot, lane, max_tokens, Sampling(), grammar, stop, background=True)
        text = _read(request).decode(errors="replace")
        return Completion(text, request.finish, request.usage)

    def warm(
        self, turns: Sequence[Turn], *, slot: str, background: bool = False, starting: bool = False
    ) -> Usage:
        """Read a prompt into its slot while nothing else is wanted, wait for it and return what it cost.

        What is read as part of `starting` takes no energy.
        """
        request = self._submit(
            turns, slot, Lane.BACKGROUND, 0, Sampling(), None, None, background=background, free=starting
        )
        _read(request)
        return request.usage

    def forget(self, slots: Collection[str], *, keep: Mapping[str, Sequence[Turn]]) -> None:
        """Drop what is cached of these slots and, but for the prompts in `keep`, of all background slots."""
        template = self._loaded()[1]
        template.forget()
        self.engine.forget(slots, {slot: template.tokens(turns) for slot, turns in keep.items()})

    def _submit(
        self,
        turns: Sequence[Turn],
        slot: str,
        lane: Lane,
        max_tokens: int,
        sampling: Sampling,
        grammar: str | None,
        stop: StopFlag | None,
        *,
        background: bool = False,
        free: bool = False,
    ) -> Request:
        tokens = self._loaded()[1].tokens(turns)
        if len(tokens) + max_tokens > self._longest:
            raise PromptTooLong("This conversation is longer than the model's window.")
        request = Request(tokens, slot, lane, max_tokens, sampling, grammar, background=background, free=free)
        request.stop = stop if stop is not None else request.stop
        request.stop.on_set(partial(self.engine.stop, request))
        return self.engine.submit(request)

    def close(self) -> None:
        """Stop the engine and free the model; who asks for it from now on is told that it is not there."""
        # First: a tokenizer that is used after its model was freed takes the process with it.
        self._native = self._template = None
        self.engine.close()


def _read(request: Request) -> bytes:
    """Return all bytes of an answer, and raise Unfinished for half of one; failures carry what was spent."""
    try:
        answer = b"".join(request)
    except ProviderError as problem:
        problem.usage = request.usage
        raise
    if request.finish == "cancelled":
        raise Unfinished(request.usage)
    return answer
