"""A provider for tests: it answers from queues of texts and records the prompts."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from chat.errors import PromptTooLong, ProviderError, Unfinished

from . import meter
from .roles import label_turn
from .types import Completion, Finish, GenerationOptions, Lane, StopFlag, Turn, Usage

Reply = str | Exception | Callable[[Sequence[Turn]], str]


@dataclass(frozen=True)
class Call:
    """One recorded call."""

    turns: tuple[Turn, ...]
    slot: str
    lane: Lane
    max_tokens: int
    grammar: str | None


@dataclass
class ScriptedStream:
    """The words of a scripted reply; with a `gate` each piece waits until the test releases the semaphore."""

    pieces: list[str]
    usage: Usage
    stop: StopFlag | None
    gate: threading.Semaphore | None
    on_begin: Callable[[], None] = lambda: None
    finish: Finish = "stop"
    began: float = field(default_factory=time.monotonic)

    def __iter__(self) -> Iterator[str]:
        self.on_begin()
        for piece in self.pieces:
            while self.gate and not self.gate.acquire(timeout=0.01):
                if self.stop and self.stop.is_set():
                    break
            if self.stop and self.stop.is_set():
                self.finish = "cancelled"
                return
            self.usage.completion_tokens += 1
            self.usage.seconds = time.monotonic() - self.began
            if self.usage.first_token_seconds is None:
                self.usage.first_token_seconds = self.usage.seconds
            yield piece


@dataclass
class ScriptedProvider:
    """Answers `stream` from `replies` and `complete` from `completions`, in order; Exceptions are raised."""

    replies: deque[Reply] = field(default_factory=deque)
    completions: deque[Reply] = field(default_factory=deque)
    # Queues by slot: these calls come at any time and must not take answers meant for others.
    titles: deque[Reply] = field(default_factory=deque)
    app_memories: deque[Reply] = field(default_factory=deque)
    app_choices: deque[Reply] = field(default_factory=deque)
    default: str = "Understood."
    default_completion: Reply = "none"
    name: str = "scripted"
    remote: bool = False
    can_reason: bool = False
    # What it reasons before each reply for which the options ask for reasoning.
    reasoning: str = ""
    # Why its replies end.
    finish: Finish = "stop"
    context_window: int = 8192
    places: int = 1
    gate: threading.Semaphore | None = None
    # Returns how many seconds a call of `complete` takes; a test may advance its clock in it.
    seconds: Callable[[Call], float] | None = None
    calls: list[Call] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)

    def count_text(self, text: str) -> int:
        """Return an estimate of four characters per token; there is no tokenizer."""
        return -(-len(text) // 4)

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        """Return the estimate for the texts, and four tokens of chat template per message."""
        return sum(self.count_text(label_turn(t)) + 4 for t in turns) + 4

    def stream(self, turns: Sequence[Turn], options: GenerationOptions) -> ScriptedStream:
        """Return the next scripted reply, word by word."""
        self._record_call(turns, options)
        text = self._next(self.replies, self.default, turns)
        words = text.split(" ")
        pieces = [w + " " for w in words[:-1]] + words[-1:]
        usage = Usage(prompt_tokens=self.count_tokens(turns))

        def begin() -> None:
            options.announce_begin()
            for piece in self.reasoning.split(" ") if options.reasoning else ():
                options.announce_reasoning(piece + " ")

        return ScriptedStream(pieces, usage, options.stop, self.gate, begin, self.finish)

    def complete(self, turns: Sequence[Turn], options: GenerationOptions) -> Completion:
        """Return the next scripted completion of the slot's queue."""
        self._record_call(turns, options)
        if options.stop is not None and options.stop.is_set():
            raise Unfinished(Usage(prompt_tokens=self.count_tokens(turns)))
        queues = {"title": self.titles, "app_memory": self.app_memories, "app_choice": self.app_choices}
        default = "none" if options.slot in queues else self.default_completion
        usage = Usage(prompt_tokens=self.count_tokens(turns))
        if self.seconds is not None:
            usage.worked_seconds = usage.seconds = self.seconds(self.calls[-1])
            if options.lane is Lane.BACKGROUND:
                meter.background.add(usage.worked_seconds, options.owner)
        try:
            text = self._next(queues.get(options.slot, self.completions), default, turns)
        except ProviderError as problem:
            problem.usage = problem.usage or usage
            raise
        usage.completion_tokens = self.count_text(text)
        return Completion(text, usage=usage)

    def forget(self, slots: Collection[str] | None, *, keep: Mapping[str, Sequence[Turn]]) -> None:
        """Record the slots, "*" for all; nothing is cached."""
        self.forgotten.extend(["*"] if slots is None else slots)

    def _record_call(self, turns: Sequence[Turn], options: GenerationOptions) -> None:
        if self.count_tokens(turns) + options.max_tokens > self.context_window:
            raise PromptTooLong("conversation-too-long")
        call = Call(tuple(turns), options.slot, options.lane, options.max_tokens, options.grammar)
        self.calls.append(call)

    @staticmethod
    def _next(queue: deque[Reply], default: Reply, turns: Sequence[Turn]) -> str:
        reply = queue.popleft() if queue else default
        if isinstance(reply, Exception):
            raise (
                reply if isinstance(reply, ProviderError) else ProviderError("verbatim", sentence=str(reply))
            )
        return reply(turns) if callable(reply) else reply
