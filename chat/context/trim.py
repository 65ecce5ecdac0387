"""What still goes to the model when not everything fits: pure decisions over sizes."""

from __future__ import annotations

from collections.abc import Sequence

CUT_MARK = "\n\n[… the middle of this message was left out: it is longer than the model's window …]\n\n"


def newest_that_fit(sizes: Sequence[int], room: int) -> int:
    """Return where the longest tail of `sizes` begins whose sum is at most `room` (seed 001, its prose)."""
    start, left = len(sizes), room
    while start > 0 and sizes[start - 1] <= left:
        start -= 1
        left -= sizes[start]
    return start


def cut_middle(text: str, keep: int) -> str:
    """Return the text cut to about `keep` characters, a visible mark in place of its middle."""
    if len(text) <= keep:
        return text
    half = max(1, (keep - len(CUT_MARK)) // 2)
    return text[:half] + CUT_MARK + text[-half:]
