"""The contract of every provider: what goes in, what comes out, and how it is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, Protocol, runtime_checkable

RoleName = Literal["system", "user", "assistant"]
Finish = Literal["stop", "length", "cancelled"]


class Lane(IntEnum):
    """Who goes first: a lower number pre-empts a higher one (design §4)."""

    CHAT = 0
    INTERACTIVE = 1
    BACKGROUND = 2


@dataclass(frozen=True, slots=True)
class Turn:
    """One message as a model sees it."""

    role: RoleName
    content: str


@dataclass(slots=True)
class Usage:
    """What a call cost: tokens, seconds from submission, and those in which the model worked for it."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    first_token_seconds: float | None = None
    seconds: float = 0.0
    worked: float = 0.0


class StopFlag:
    """Set by whoever wants a call to end; a provider may ask to be told at once."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._listener: Callable[[], None] | None = None

    def is_set(self) -> bool:
        """Return whether the call is to end."""
        return self._event.is_set()

    def set(self) -> None:
        """Ask for the end, from any thread."""
        self._event.set()
        if self._listener:
            self._listener()

    def wait(self, seconds: float) -> bool:
        """Wait so long at most; return whether the call is to end."""
        return self._event.wait(seconds)

    def on_set(self, listener: Callable[[], None]) -> None:
        """Register what wakes the provider, also when the flag is set already."""
        self._listener = listener
        if self._event.is_set():
            listener()


class ProviderError(Exception):
    """A call that failed; its text is a plain sentence for the user, `usage` what it cost until then."""

    usage: Usage | None = None


class ModelNotReady(ProviderError):
    """The model is missing, loading or failed to load."""


class FormNotKept(ProviderError):
    """A provider that cannot be bound by a grammar did not keep to it, asked twice."""

    def __init__(self, usage: Usage) -> None:
        super().__init__("The model did not keep to the form that was asked for, twice.")
        self.usage = usage


class PromptTooLong(ProviderError):
    """The prompt leaves no room for an answer in the window."""


class Unfinished(ProviderError):
    """A whole answer that was stopped before its end, by its own flag or because the model is shut down."""

    usage: Usage

    def __init__(self, usage: Usage) -> None:
        super().__init__("The model was stopped before it had finished.")
        self.usage = usage


@dataclass(slots=True)
class Completion:
    """A whole answer; `finish` is why it ended."""

    text: str
    finish: Finish = "stop"
    usage: Usage = field(default_factory=Usage)


class Stream(Protocol):
    """Pieces of text as they come; `usage` and `finish` are final once the iteration has ended."""

    @property
    def usage(self) -> Usage:
        """Return what the call cost so far."""
        ...

    @property
    def finish(self) -> Finish:
        """Return why the text ended."""
        ...

    def __iter__(self) -> Iterator[str]: ...


class Provider(Protocol):
    """A model behind one door. All methods block: call them from a worker thread, never from the loop."""

    name: str
    remote: bool
    context_window: int

    def count_tokens(self, turns: Sequence[Turn]) -> int:
        """Return the prompt's length in tokens, template included."""
        ...

    def count_text(self, text: str) -> int:
        """Return the length of a piece of text in tokens."""
        ...

    def stream(
        self,
        turns: Sequence[Turn],
        *,
        slot: str,
        lane: Lane = Lane.CHAT,
        max_tokens: int = 1024,
        temperature: float = 0.7,
        stop: StopFlag | None = None,
    ) -> Stream:
        """Begin an answer; `slot` names the cached prefix that the call continues."""
        ...

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
        """Return a whole answer at temperature 0, constrained by a GBNF grammar when one is given.

        Raises Unfinished where it was stopped: half an answer can never be taken for a whole one.
        """
        ...

    def forget(self, slots: Collection[str], *, keep: Mapping[str, Sequence[Turn]]) -> None:
        """Drop what is cached of these slots and, but for the prompts in `keep`, of all background slots.

        Returns at once; a provider that caches nothing here does nothing.
        """
        ...


@runtime_checkable
class ReadsAhead(Protocol):
    """A provider that can read a prompt before anybody needs it."""

    def warm(self, turns: Sequence[Turn], *, slot: str) -> Usage:
        """Read a prompt into its slot while nothing else is wanted, and return what that cost."""
        ...
