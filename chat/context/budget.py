"""How the window is shared out: pure arithmetic, all in tokens (design §6)."""

from __future__ import annotations

COMPACT_AT = 0.8  # seed 004, "80% threshold"
COMPACT_TO = 0.5  # so that trimming does not run again next turn
KEEP_FIRST = 2  # the first exchange
NOTE_TOKENS = 60
MEMORY_MIN, MEMORY_IDEAL, MEMORY_MAX = 150, 350, 500  # seed 004, "Token Budget"


def reserve(window: int) -> int:
    """Return what is kept free for the reply."""
    return min(1024, window // 5)


def memory_budget(window: int, used: int) -> int:
    """Return what facts may take: a quarter of what remains after the reply's reserve, 150 to 500."""
    share = (window - reserve(window) - used) // 4
    return max(MEMORY_MIN, min(MEMORY_MAX, share))


def must_compact(prompt: int, window: int) -> bool:
    """Return whether a prompt has passed 80 % of the window, or leaves no room for the reply."""
    return prompt > COMPACT_AT * window or prompt + reserve(window) > window


def target(window: int) -> int:
    """Return what a prompt is trimmed to."""
    return int(COMPACT_TO * window)
