"""Leaves the middle out of a text that is too long, with a mark that everybody sees."""

from __future__ import annotations

CUT_MARK = "\n\n[… the middle of this message was left out: it is longer than the model's window …]\n\n"


def cut_middle(text: str, keep: int) -> str:
    """Return the text cut to about `keep` characters, a visible mark in place of its middle."""
    if len(text) <= keep:
        return text
    half = max(1, (keep - len(CUT_MARK)) // 2)
    return text[:half] + CUT_MARK + text[-half:]
