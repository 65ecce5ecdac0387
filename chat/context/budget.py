"""The token budget of a prompt: shares of the context window, the cost of lines, and cutting texts to fit.

All sizes are in tokens unless a name says characters. No Django, no database.
"""

from __future__ import annotations

from collections.abc import Callable

from chat.llm.types import Provider

# Shares of the window. Product requirements unless a reason stands beside them.
COMPACT_AT = 0.8  # a longer prompt is compacted
COMPACT_TO = 0.5  # low enough that the next turn does not compact again
PREPARE_AT = 0.7  # from here on a background job precomputes the next compaction, so that nobody waits for it
SUMMARISE_AT = 0.6  # a summary takes the model about a minute and must exist before the prompt that uses it
KEEP_LAST = 6  # messages that every strategy but `simple` keeps
KEEP_LAST_SUMMARISED = 20  # messages that the strategy `summarization` keeps; it summarises all earlier ones
# For the facts of the turn note: what the model reads in NOTE_SECONDS, within these limits.
NOTE_SECONDS, NOTE_TOKENS, NOTE_MAX = 1.2, 60, 120
MEMORY_MIN, MEMORY_MAX = 150, 500  # for facts, in the memory block and the turn note
# For the memory block. The rest of MEMORY_MAX is left to the note, with the facts and quotations that a
# message needs. Design 004 says 350, without quotations from past conversations.
MEMORY_IDEAL = 220
# For app memories, below the facts. Five samples of about 193 characters with their heading take 427 tokens
# of the default model in German, 422 in French and 367 in English.
APP_MEMORY_TOKENS = 450
APP_MEMORIES_CROWDED = 5  # app memories that stage 2 of a compaction keeps
# Divisors of the window. A first exchange larger than an eighth of it is shortened to that when it is kept.
_HEAD_SHARE = 8
_FLAGGED_SHARE = 5
# An agent may add a system message to each turn; without a limit they would push the conversation out.
_SYSTEM_SHARE = 4
_SUMMARY_SHARE, _SUMMARY_MAX = 16, 256


def reply_reserve(window: int) -> int:
    """Return how many tokens are reserved for the reply."""
    return min(1024, window // 5)


def memory_budget(window: int, used: int) -> int:
    """Return the budget for facts: a quarter of the window less the reply's reserve and `used`; 150 to 500.

    `used` is the length of the rest of the prompt: persona, summary, history and the user's message.
    """
    share = (window - reply_reserve(window) - used) // 4
    return max(MEMORY_MIN, min(MEMORY_MAX, share))


def note_budget(speed: float) -> int:
    """Return the budget for the facts of a turn note, for a model that reads `speed` tokens a second."""
    return max(NOTE_TOKENS, min(NOTE_MAX, round(NOTE_SECONDS * speed)))


def must_compact(prompt: int, window: int) -> bool:
    """Return whether a prompt exceeds 80 % of the window or leaves too little for the reply."""
    return prompt > max_prompt_tokens(window)


def max_prompt_tokens(window: int) -> int:
    """Return the maximal length of a prompt."""
    return min(int(COMPACT_AT * window), window - reply_reserve(window))


def max_persona_tokens(window: int) -> int:
    """Return the maximal length of a persona: half the window remains for memory, a message and its reply."""
    return window // 2


def min_history_tokens(window: int) -> int:
    """Return the minimum for earlier messages, however long the user's own message is."""
    return compaction_target(window) // 4


def should_summarise(prompt: int, window: int) -> bool:
    """Return whether the messages that the next compaction leaves out should be summarised now."""
    return prompt > SUMMARISE_AT * window


def should_precompute(prompt: int, window: int) -> bool:
    """Return whether the next compaction should be precomputed now."""
    return prompt > PREPARE_AT * window


def compaction_target(window: int) -> int:
    """Return the length that a compaction aims at."""
    return int(COMPACT_TO * window)


def max_head_tokens(window: int) -> int:
    """Return the length to which a longer first exchange is shortened."""
    return window // _HEAD_SHARE


def max_flagged_tokens(window: int) -> int:
    """Return the total for messages that the user flagged or that are important by their score."""
    return window // _FLAGGED_SHARE


def max_system_tokens(window: int) -> int:
    """Return the total for system messages within the conversation."""
    return window // _SYSTEM_SHARE


def max_summary_tokens(window: int) -> int:
    """Return the maximal length of the summary of messages that were left out."""
    return min(_SUMMARY_MAX, window // _SUMMARY_SHARE)


_MAX_REMEMBERED_LINES = 50_000
# Keyed by (provider name, hash of the line): no text of a forgotten fact stays in memory.
_token_counts: dict[tuple[str, int], int] = {}


def build_line_counter(provider: Provider) -> Callable[[str], int]:
    """Return a function that counts the tokens of a short line, and counts each line once per process.

    Callable from any thread. A tokenizer call takes 50 µs even for a short line.
    """
    name, count = provider.name, provider.count_text

    def count_line(line: str) -> int:
        key = (name, hash(line))
        tokens = _token_counts.get(key)
        if tokens is None:
            if len(_token_counts) >= _MAX_REMEMBERED_LINES:
                _token_counts.clear()
            tokens = _token_counts[key] = count(line)
        return tokens

    return count_line


CUT_MARK = "\n\n[… the middle of this message was left out: it is longer than the model's window …]\n\n"
_MAX_CHARACTERS_A_TOKEN = 16  # longer tokens are rare


def cut_middle(text: str, keep: int) -> str:
    """Return the text cut to about `keep` characters, with a visible mark in place of its middle."""
    if len(text) <= keep:
        return text
    half = max(1, (keep - len(CUT_MARK)) // 2)
    return text[:half] + CUT_MARK + text[-half:]


def cut_to_tokens(room: int, text: str, count: Callable[[str], int]) -> str:
    """Return the text with its middle cut out so that it takes at most `room` tokens; deterministic."""
    # Cut before counting: the tokenizer needs seconds for megabytes of text.
    shown = cut_middle(text, room * _MAX_CHARACTERS_A_TOKEN)
    while (tokens := count(shown)) > room and len(shown) > len(CUT_MARK) + 2:
        shown = cut_middle(text, int(len(shown) * min(0.95, room / tokens)))
    return shown
