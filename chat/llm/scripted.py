"""A provider for tests: a queue of replies and a history of prompts."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from . import meter
from .types import Completion, Finish, Lane, PromptTooLong, ProviderError, StopFlag, Turn, Unfinished, Usage

Reply = str | Exception | Callable[[Sequence[Turn]], str]


@dataclass(frozen=True)
class Call:
    """One prompt that was asked, with what constrained it."""

    turns: tuple[Turn, ...]
    slot: str
    lane: Lane
    max_tokens: int
    grammar: str | None


@dataclass
class ScriptedStream:
    """Words of a scripted reply; `gate` holds each piece back until a test lets it go."""

    pieces: list[str]
    usage: Usage
    stop: StopFlag | None
    gate: threading.Semaphore | None
    finish: Finish = "stop"
    began: float = field(default_factory=time.monotonic)

    def __iter__(self) -> Iterator[str]:
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
    """Answers from `replies` for chats and from `completions` for constrained calls, in order."""

    replies: deque[Reply] = field(default_factory=deque)
    completions: deque[Reply] = field(default_factory=deque)
    # These come when they please, so they take nothing from the other calls.
    titles: deque[Reply] = field(default_factory=deque)
    app_memories: deque[Reply] = field(default_factory=deque)
    app_choices: deque[Reply] = field(default_factory=deque)
    default: str = "Understood."
    default_completion: Reply = "none"
    name: str = "scripted"
    remote: bool = False
    context_window: int = 8192
    gate: threading.Semaphore | None = None
    # How long a constrained call takes: a test may move its clock on there.
    seconds: Callable[[Call], float] | None = None
    calls: list[Call] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)

    def count_text(self, text: str) -> int:
        """Count four characters a token: this provider has no tokenizer and says so here."""
        return -(-len(text) // 4)

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        """Count the text and four tokens of template a message."""
        return sum(self.count_text(t.content) + 4 for t in turns) + 4

    def stream(
        self,
        turns: Sequence[Turn],
        *,
        slot: str,
        lane: Lane = Lane.CHAT,
        max_tokens: int = 1024,
        temperature: float = 0.7,
        stop: StopFlag | None = None,
    ) -> ScriptedStream:
        """Give the next scripted reply word by word."""
        self._refuse_what_is_too_long(turns, max_tokens)
        self.calls.append(Call(tuple(turns), slot, lane, max_tokens, None))
        text = self._next(self.replies, self.default, turns)
        words = text.split(" ")
        pieces = [w + " " for w in words[:-1]] + words[-1:]
        return ScriptedStream(pieces, Usage(prompt_tokens=self.count_tokens(turns)), stop, self.gate)

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
        """Give the next scripted completion whole."""
        self._refuse_what_is_too_long(turns, max_tokens)
        self.calls.append(Call(tuple(turns), slot, lane, max_tokens, grammar))
        if stop is not None and stop.is_set():
            raise Unfinished(Usage(prompt_tokens=self.count_tokens(turns)))
        own = {"title": self.titles, "app_memory": self.app_memories, "app_choice": self.app_choices}
        default = "none" if slot in own else self.default_completion
        usage = Usage(prompt_tokens=self.count_tokens(turns))
        if self.seconds is not None:
            usage.worked = usage.seconds = self.seconds(self.calls[-1])
            if lane is Lane.BACKGROUND:
                meter.background.add(usage.worked)
        try:
            text = self._next(own.get(slot, self.completions), default, turns)
        except ProviderError as problem:
            problem.usage = problem.usage or usage
            raise
        usage.completion_tokens = self.count_text(text)
        return Completion(text, usage=usage)

    def forget(self, slots: Collection[str], *, keep: Mapping[str, Sequence[Turn]]) -> None:
        """Write down what was to be dropped: nothing is cached here."""
        self.forgotten.extend(slots)

    def _refuse_what_is_too_long(self, turns: Sequence[Turn], max_tokens: int) -> None:
        if self.count_tokens(turns) + max_tokens > self.context_window:
            raise PromptTooLong("This conversation is longer than the model's window.")

    @staticmethod
    def _next(queue: deque[Reply], default: Reply, turns: Sequence[Turn]) -> str:
        reply = queue.popleft() if queue else default
        if isinstance(reply, Exception):
            raise reply if isinstance(reply, ProviderError) else ProviderError(str(reply))
        return reply(turns) if callable(reply) else reply
