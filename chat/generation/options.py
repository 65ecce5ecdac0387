"""What a program may ask of one reply besides its words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """How a reply is to be written; None is as on the page. `stop` are texts before which it ends."""

    max_tokens: int | None = None
    temperature: float | None = None
    stop: tuple[str, ...] = ()


AS_USUAL = Options()


class UntilStop:
    """Pieces of text up to the first of some texts, which is left out itself.

    What may be the beginning of one is held back until it is known not to be. `met` says afterwards whether
    one was there; whoever writes the pieces has to be told to stop.
    """

    def __init__(self, pieces: Iterable[str], stop: tuple[str, ...]) -> None:
        self._pieces = pieces
        self._stop = tuple(text for text in stop if text)
        self.met = False

    def __iter__(self) -> Iterator[str]:
        held = ""
        for piece in self._pieces:
            held += piece
            if places := [place for text in self._stop if (place := held.find(text)) >= 0]:
                self.met = True
                held = held[: min(places)]
                break
            keep = max((_overlap(held, text) for text in self._stop), default=0)
            if len(held) > keep:
                yield held[: len(held) - keep]
                held = held[len(held) - keep :]
        if held:
            yield held


def _overlap(text: str, stop: str) -> int:
    """Return how many characters at the end of a text may be the beginning of a stop."""
    longest = min(len(text), len(stop) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(stop[:size])), 0)
