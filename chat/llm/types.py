"""The contract of every provider of a language model.

No Django and no llama.cpp in this module.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, Protocol, runtime_checkable

# The slot of a conversation's next prompt, which is evaluated in advance, is named by the conversation's slot
# and this suffix. The conversation takes its prefix over and frees it.
NEXT_PROMPT_SUFFIX = ":next"

# Tokens that the reasoning before a reply may take beside the reply's own.
REASONING_TOKENS = 2048

RoleName = Literal["system", "user", "assistant", "tool"]
Finish = Literal["stop", "length", "cancelled"]


class Lane(IntEnum):
    """The priority of a call: a lower number pre-empts a higher one."""

    CHAT = 0
    INTERACTIVE = 1
    BACKGROUND = 2


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; `arguments` is usually a JSON object, as text."""

    id: str
    name: str
    arguments: str

    @classmethod
    def from_json(cls, call: Any) -> ToolCall:
        """Return a call in OpenAI's form; an imported one may have any shape, so parts of it may be empty."""
        outer = call if isinstance(call, dict) else {}
        inner = outer.get("function", outer)
        inner = inner if isinstance(inner, dict) else {}
        arguments = inner.get("arguments", "")
        arguments = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        return cls(str(outer.get("id") or ""), str(inner.get("name") or ""), arguments)

    def parse_arguments(self) -> dict[str, Any] | None:
        """Return the arguments as an object, {} without any; None where they are no JSON object."""
        try:
            value = json.loads(self.arguments or "{}")
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as the model gets it: a text, tool calls of the assistant, or the result of a tool.

    A result has the id of its call in `call_id` and the tool's name in `name`.
    """

    role: RoleName
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""


@dataclass(slots=True)
class Usage:
    """The cost of one call.

    `seconds` and `first_token_seconds` count from submission, waiting included; `worked_seconds` are those in
    which the model worked on the call. `cached_tokens` are prompt tokens that need not be evaluated; of a
    server that shares its cache between owners they are 0. `reasoning_tokens` of the completion's tokens came
    before the reply.
    """

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    reasoning_tokens: int = 0
    first_token_seconds: float | None = None
    seconds: float = 0.0
    worked_seconds: float = 0.0

    @property
    def reply_tokens(self) -> int:
        """Return the tokens of the reply itself, which later prompts contain."""
        return max(0, self.completion_tokens - self.reasoning_tokens)


class StopFlag:
    """Asks a call to stop; all methods are callable from any thread. A provider registers one listener."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._listener: Callable[[], None] | None = None

    def is_set(self) -> bool:
        """Return whether the call must stop."""
        return self._event.is_set()

    def set(self) -> None:
        """Ask the call to stop."""
        self._event.set()
        if self._listener:
            self._listener()

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds`; return whether the call must stop."""
        return self._event.wait(seconds)

    def on_set(self, listener: Callable[[], None]) -> None:
        """Register the listener that `set` calls; it is called at once if the flag is set already."""
        self._listener = listener
        if self._event.is_set():
            listener()


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationOptions:
    """How a model generates one text. The defaults are those of a short background answer.

    `slot` names the cached prefix that the call continues, `temperature` 0 chooses the likeliest token, and
    `grammar` is a GBNF grammar (llama.cpp's notation) that the text must match; only `complete` supports it.
    `owner` is whose words the prompt holds: a cached prefix with words of one owner is never used for another
    owner's prompt, and the owners of waiting calls take turns. `on_begin` is called once, in any thread, when
    the call has waited for its turn and the model begins to work on it; it must return at once.
    `reasoning` lets a model that can reason do so before a reply: up to `REASONING_TOKENS` that `max_tokens`
    does not count. `on_reasoning` gets it piece by piece in the thread that iterates, also from a model that
    reasons unasked; it is never part of the text.
    """

    slot: str
    owner: str = ""
    lane: Lane = Lane.BACKGROUND
    max_tokens: int = 256
    temperature: float = 0.0
    grammar: str | None = None
    stop: StopFlag | None = None
    on_begin: Callable[[], None] | None = None
    reasoning: bool = False
    on_reasoning: Callable[[str], None] | None = None

    def announce_reasoning(self, piece: str) -> None:
        """Call `on_reasoning`, if there is one and the piece is not empty."""
        if piece and self.on_reasoning is not None:
            self.on_reasoning(piece)

    def announce_begin(self) -> None:
        """Call `on_begin`, if there is one."""
        if self.on_begin is not None:
            self.on_begin()

    @classmethod
    def for_reply(
        cls,
        slot: str,
        *,
        lane: Lane = Lane.CHAT,
        max_tokens: int = 1024,
        temperature: float = 0.7,
        stop: StopFlag | None = None,
        owner: str = "",
        on_begin: Callable[[], None] | None = None,
    ) -> GenerationOptions:
        """Return options with the defaults of a reply in a conversation."""
        return cls(
            slot=slot,
            lane=lane,
            max_tokens=max_tokens,
            temperature=temperature,
            stop=stop,
            owner=owner,
            on_begin=on_begin,
        )


@dataclass(slots=True)
class Completion:
    """A whole answer; `finish` says why it ended."""

    text: str
    finish: Finish = "stop"
    usage: Usage = field(default_factory=Usage)


class Stream(Protocol):
    """The text of a reply, piece by piece; `usage` and `finish` are final once the iteration has ended."""

    @property
    def usage(self) -> Usage:
        """Return the cost of the call so far."""
        ...

    @property
    def finish(self) -> Finish:
        """Return why the text ended."""
        ...

    def __iter__(self) -> Iterator[str]: ...


class Provider(Protocol):
    """A language model, local or remote.

    Methods block and raise ProviderError: call them from a worker thread, never from an event loop.
    `context_window` is in tokens, `places` is how many replies it writes at the same time, and
    `can_reason` whether `GenerationOptions.reasoning` makes a difference.
    """

    name: str
    remote: bool
    context_window: int

    @property
    def can_reason(self) -> bool:
        """Return whether the model can reason before a reply, or leave that out."""
        ...

    @property
    def places(self) -> int:
        """Return how many replies it writes at the same time."""
        ...

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        """Return the length of a prompt in tokens, chat template included."""
        ...

    def count_text(self, text: str) -> int:
        """Return the length of a piece of text in tokens."""
        ...

    def stream(self, turns: Sequence[Turn], options: GenerationOptions) -> Stream:
        """Begin a reply and return its stream; a stopped reply ends with the finish "cancelled".

        Errors are raised here or by the iteration.
        """
        ...

    def complete(self, turns: Sequence[Turn], options: GenerationOptions) -> Completion:
        """Return a whole answer, constrained by `options.grammar`.

        Raises Unfinished where the call was stopped, so that no partial answer is taken for a whole one.
        """
        ...

    def forget(self, slots: Collection[str] | None, *, keep: Mapping[str, Sequence[Turn]]) -> None:
        """Delete the cached prefixes of these slots, None for those of all conversations, and of all
        background slots except the prompts in `keep`.

        Returns at once. A provider without a cache does nothing.
        """
        ...


@runtime_checkable
class SupportsPrefill(Protocol):
    """A provider that can evaluate a prompt before it is needed."""

    def prefill(self, turns: Sequence[Turn], *, slot: str, owner: str) -> Usage:
        """Evaluate a prompt of this owner into a slot in the background lane, wait for it, and return its
        cost.
        """
        ...
