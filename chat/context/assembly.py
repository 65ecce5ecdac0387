"""The pieces of one prompt, put together so that they fit."""

from __future__ import annotations

from dataclasses import dataclass, field

from chat.llm.types import Provider, Turn
from chat.models import Message, Role

from .budget import KEEP_FIRST, reserve, target
from .trim import cut_middle, newest_that_fit

# What a template puts around a message, on the safe side; the whole prompt is counted exactly in the end.
_TEMPLATE_TOKENS = 8
_SHORTEST = 200
_ALL = 2**31


@dataclass(slots=True)
class Assembly:
    """System text, history, turn note and the user's message; counts with the provider's tokenizer."""

    provider: Provider
    system: Turn
    history: list[Message]
    note: str
    text: str
    # How many first messages are always kept: the first exchange, unless it is huge.
    head: int = field(init=False)

    def __post_init__(self) -> None:
        first = self.history[:KEEP_FIRST]
        size = sum(self.provider.count_text(m.content) for m in first)
        self.head = len(first) if size <= self.provider.context_window // 8 else 0

    def fit(self, trimmed: int) -> tuple[list[Turn], int]:
        """Return the turns trimmed to half the window, and the place through which history is left out."""
        window = self.provider.context_window
        text = self._shortened(window)
        fixed = self.provider.count_tokens(self.turns(_ALL, text))
        rest = self.history[self.head :]
        sizes = [self.provider.count_text(m.note + m.content) + _TEMPLATE_TOKENS for m in rest]
        start = newest_that_fit(sizes, target(window) - fixed)
        # An answer without its question misleads, and some templates refuse it.
        while start < len(rest) and rest[start].role == Role.ASSISTANT:
            start += 1
        trimmed = max(trimmed, rest[start - 1].seq if start else 0)
        return self.turns(trimmed, text), trimmed

    def kept(self, trimmed: int) -> list[Message]:
        """Return the messages that still go to the model."""
        return [m for i, m in enumerate(self.history) if i < self.head or m.seq > trimmed]

    def turns(self, trimmed: int, text: str | None = None) -> list[Turn]:
        """Return the whole prompt; `text` stands in for the user's message."""
        own = Turn("user", noted(self.note, self.text if text is None else text))
        return [self.system, *map(_as_turn, self.kept(trimmed)), own]

    def _shortened(self, window: int) -> str:
        """Return the message, its middle cut out where it alone would overflow the window."""
        room = window - reserve(window) - self.provider.count_tokens(self.turns(_ALL, ""))
        text = self.text
        while (size := self.provider.count_text(text)) > room and len(text) > _SHORTEST:
            text = cut_middle(self.text, max(_SHORTEST, int(len(text) * min(0.95, room / size))))
        return text


def noted(note_text: str, text: str) -> str:
    """Return a user message as the model sees it, with its note before it."""
    return f"{note_text}\n\n{text}" if note_text else text


def _as_turn(message: Message) -> Turn:
    if message.role == Role.ASSISTANT:
        return Turn("assistant", message.content)
    return Turn("user", noted(message.note, message.content))
