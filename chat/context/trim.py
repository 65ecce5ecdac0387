"""Leaves the middle out of a text that is too long, with a mark that everybody sees."""

from __future__ import annotations

from collections.abc import Callable

CUT_MARK = "\n\n[… the middle of this message was left out: it is longer than the model's window …]\n\n"
_MOST_CHARACTERS = 16  # a token; longer ones are rare


def cut_middle(text: str, keep: int) -> str:
    """Return the text cut to about `keep` characters, a visible mark in place of its middle."""
    if len(text) <= keep:
        return text
    half = max(1, (keep - len(CUT_MARK)) // 2)
    return text[:half] + CUT_MARK + text[-half:]


def cut_to(room: int, text: str, count: Callable[[str], int]) -> str:
    """Return the text cut so that it takes no more than `room` tokens, the same each time it is asked for."""
    # What no window holds is not counted as a whole: that takes seconds with megabytes.
    shown = cut_middle(text, room * _MOST_CHARACTERS)
    while (tokens := count(shown)) > room and len(shown) > len(CUT_MARK) + 2:
        shown = cut_middle(text, int(len(shown) * min(0.95, room / tokens)))
    return shown
