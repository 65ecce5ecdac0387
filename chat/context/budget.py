"""How the window is shared out: pure arithmetic, all in tokens (design §6)."""

from __future__ import annotations

COMPACT_AT = 0.8  # seed 004, "80% threshold"
COMPACT_TO = 0.5  # so that trimming does not run again next turn
PREPARE_AT = 0.7  # design §6: from here on the next prompt is made ready, so that nobody waits for it
SUMMARISE_AT = 0.6  # a summary takes a model a minute, and must be there before the prompt that holds it
KEEP_LAST = 6  # seed 004, "last 6 messages"
KEEP_LAST_SUMMARISED = 20  # seed 001, "Summarization": all but the recent 20
NOTE_TOKENS = 60
MEMORY_MIN, MEMORY_IDEAL, MEMORY_MAX = 150, 350, 500  # seed 004, "Token Budget"
APP_MEMORY_TOKENS = 300  # design §6, "Budget"
APP_MEMORIES_CROWDED = 5  # design §6, "Compaction", stage 2
# A first exchange that takes more than this share is no mere opening.
_HEAD_SHARE = 8
_FLAGGED_SHARE = 5  # design §6
_SUMMARY_SHARE, _SUMMARY_MAX = 16, 256


def reserve(window: int) -> int:
    """Return what is kept free for the reply."""
    return min(1024, window // 5)


def memory_budget(window: int, used: int) -> int:
    """Return what facts may take: a quarter of what remains after the reply's reserve, 150 to 500."""
    share = (window - reserve(window) - used) // 4
    return max(MEMORY_MIN, min(MEMORY_MAX, share))


def must_compact(prompt: int, window: int) -> bool:
    """Return whether a prompt has passed 80 % of the window, or leaves no room for the reply."""
    return prompt > limit(window)


def limit(window: int) -> int:
    """Return the most that a prompt may take."""
    return min(int(COMPACT_AT * window), window - reserve(window))


def persona_room(window: int) -> int:
    """Return the most that a persona may take: what is left holds memory, a message and its reply."""
    return window // 2


def history_room(window: int) -> int:
    """Return what earlier messages get at least, however long the user's own message is."""
    return target(window) // 4


def may_need_summary(prompt: int, window: int) -> bool:
    """Return whether what will be left out next is to be summed up now."""
    return prompt > SUMMARISE_AT * window


def must_prepare(prompt: int, window: int) -> bool:
    """Return whether the next compaction is to be made ready."""
    return prompt > PREPARE_AT * window


def target(window: int) -> int:
    """Return what a prompt is compacted to."""
    return int(COMPACT_TO * window)


def head_room(window: int) -> int:
    """Return how large a first exchange may be to be kept."""
    return window // _HEAD_SHARE


def flagged_room(window: int) -> int:
    """Return what the messages that the user marked may take together."""
    return window // _FLAGGED_SHARE


def summary_room(window: int) -> int:
    """Return how long a summary of what was left out may be."""
    return min(_SUMMARY_MAX, window // _SUMMARY_SHARE)
