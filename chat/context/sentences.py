"""Texts in sentences: to quote some, and to let an account of long ago thin out. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

# A full stop within a number or a name ("2.5", "memory.css") ends no sentence.
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:[.!?](?!\s)[^.!?。！？\n]+)*[.!?。！？]*")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, each on one line."""
    return [one for found in _SENTENCE.findall(text) if (one := " ".join(found.split()))]


def thinned(told: Sequence[str], room: int, count: Callable[[str], int]) -> list[str]:
    """Return sentences that take at most `room` tokens together, unless a single one takes more.

    What was told first stays, for it says what all is about; of the older half every second one goes, again
    and again, so that the account gets sparser the longer ago it was.
    """
    kept = list(told)
    while len(kept) > 1 and count(" ".join(kept)) > room:
        if len(kept) == 2:
            return kept[1:]
        older = len(kept) // 2 + 1
        kept = [sentence for n, sentence in enumerate(kept) if n % 2 == 0 or n >= older]
    return kept
