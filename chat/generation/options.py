"""Options that a program may set for one reply, and the filter that applies its stop texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """Options of one reply; None is the default of the page, and for `reasoning` the conversation's choice.

    The reply ends before the first of the texts `stop`.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()
    reasoning: bool | None = None


DEFAULT_OPTIONS = ReplyOptions()


class StopTextFilter:
    """Yields pieces of text up to the first stop text, which is left out.

    The beginning of a possible stop text is held back until the next pieces decide. `stop_found` tells
    afterwards whether one was found; the caller then has to stop the model.
    """

    def __init__(self, pieces: Iterable[str], stop: tuple[str, ...]) -> None:
        self._pieces = pieces
        self._stop = tuple(text for text in stop if text)
        self.stop_found = False

    def __iter__(self) -> Iterator[str]:
        held = ""
        for piece in self._pieces:
            held += piece
            if positions := [position for text in self._stop if (position := held.find(text)) >= 0]:
                self.stop_found = True
                held = held[: min(positions)]
                break
            keep = max((_overlap(held, text) for text in self._stop), default=0)
            if len(held) > keep:
                yield held[: len(held) - keep]
                held = held[len(held) - keep :]
        if held:
            yield held


def _overlap(text: str, stop: str) -> int:
    """Return how many characters at the end of a text may be the beginning of a stop text."""
    longest = min(len(text), len(stop) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(stop[:size])), 0)
