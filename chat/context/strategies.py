"""Which exchanges of a conversation stay in its prompt after a compaction. No Django, no database.

An exchange is a user's message with all messages that answer it, so that a reply never appears without its
question, and the result of a tool never without its call. A system message is an exchange of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .budget import (
    KEEP_LAST,
    KEEP_LAST_SUMMARISED,
    max_flagged_tokens,
    max_head_tokens,
    max_system_tokens,
)
from .importance import IMPORTANT

SIMPLE, SUMMARIZATION, HYBRID, TOPICS = "simple", "summarization", "hybrid", "topics"


@dataclass(frozen=True, slots=True)
class HistoryExchange:
    """Messages that belong together: their `seq` numbers in order, and their length in tokens."""

    seqs: tuple[int, ...]
    tokens: int
    flagged: bool = False
    topic: Any = None
    # The highest of its messages, 0 to 1.
    importance: float = 0.0
    is_system: bool = False


@dataclass(frozen=True, slots=True)
class KeptExchanges:
    """The messages that stay: all after `trimmed_through`, and the earlier ones in `kept`; by `seq`."""

    trimmed_through: int
    kept: tuple[int, ...]

    def includes(self, seq: int) -> bool:
        """Return whether a message stays."""
        return seq > self.trimmed_through or seq in self.kept


def uses_summary(strategy: str) -> bool:
    """Return whether a strategy replaces the messages that it leaves out by a rolling summary.

    `topics` uses the summaries of the other topics instead, which are made when a topic is archived.
    """
    return strategy in (SUMMARIZATION, HYBRID)


def choose_exchanges(
    strategy: str, exchanges: Sequence[HistoryExchange], room: int, window: int, topic: Any = None
) -> KeptExchanges:
    """Return which exchanges stay within `room` tokens; `topic` is the id of the new message's topic.

    The last six messages stay even when they exceed `room`, and with the strategy `hybrid` so do system
    messages, up to a quarter of the window: the caller then shortens them. With the strategy `simple` only
    the newest messages stay, as many as fit.
    """
    last = 0 if strategy == SIMPLE else _count_last_exchanges(exchanges, KEEP_LAST)
    before = exchanges[: len(exchanges) - last]
    kept = _list_system_messages(before, window) if strategy == HYBRID else []
    left = room - sum(e.tokens for e in [*kept, *exchanges[len(exchanges) - last :]])
    talk = [e for e in before if not e.is_system]
    for exchange in _list_early_exchanges(strategy, talk, window, topic):
        if exchange.tokens <= left:
            kept.append(exchange)
            left -= exchange.tokens
    start = len(exchanges) - last
    max_messages = KEEP_LAST_SUMMARISED if strategy == SUMMARIZATION else None
    while start > 0 and (exchanges[start - 1] in kept or exchanges[start - 1].tokens <= left):
        if max_messages is not None and sum(len(e.seqs) for e in exchanges[start - 1 :]) > max_messages:
            break
        start -= 1
        left -= 0 if exchanges[start] in kept else exchanges[start].tokens
    # Not only of the last one: a system message may be between a tool call and its result.
    trimmed = max((seq for e in exchanges[:start] for seq in e.seqs), default=0)
    seqs = sorted(seq for e in [*kept, *exchanges[start:]] for seq in e.seqs if seq <= trimmed)
    return KeptExchanges(trimmed, tuple(seqs))


def find_oversized_first(
    strategy: str, exchanges: Sequence[HistoryExchange], room: int, window: int
) -> HistoryExchange | None:
    """Return the first exchange if it must be shortened to `max_head_tokens` so that it stays; else None.

    A strategy that keeps the first exchange keeps at most an eighth of the window of it. It is not shortened
    where it is one of the last six messages, where all exchanges fit in `room`, or where it stays in full
    because the user flagged it.
    """
    last = _count_last_exchanges(exchanges, KEEP_LAST)
    if strategy != HYBRID or len(exchanges) <= last or sum(e.tokens for e in exchanges) <= room:
        return None
    first = next((e for e in exchanges if not e.is_system), None)
    if first is None or first in exchanges[len(exchanges) - last :]:
        return None
    if first.flagged and first.tokens <= max_flagged_tokens(window):
        return None
    return first if first.tokens > max_head_tokens(window) else None


def _count_last_exchanges(exchanges: Sequence[HistoryExchange], messages: int) -> int:
    """Return how many of the last exchanges contain so many messages; system messages do not count."""
    count = counted = 0
    while count < len(exchanges) and counted < messages:
        count += 1
        counted += 0 if exchanges[-count].is_system else len(exchanges[-count].seqs)
    return count


def _list_system_messages(before: Sequence[HistoryExchange], window: int) -> list[HistoryExchange]:
    """Return the system messages that always stay: the newest one, and the others as far as they fit."""
    found: list[HistoryExchange] = []
    left = max_system_tokens(window)
    for exchange in reversed(before):
        if exchange.is_system:
            if found and exchange.tokens > left:
                break
            found.append(exchange)
            left -= exchange.tokens
    return found


def _list_early_exchanges(
    strategy: str, before: Sequence[HistoryExchange], window: int, topic: Any
) -> list[HistoryExchange]:
    """Return the early exchanges that a strategy wants to keep, the most important first."""
    if strategy == TOPICS:
        return [e for e in reversed(before) if topic is not None and e.topic == topic]
    if strategy != HYBRID:
        return []
    first = [e for e in before[:1] if e.tokens <= max_head_tokens(window)]
    wanted = [e for e in reversed(before) if e not in first and (e.flagged or e.importance >= IMPORTANT)]
    important, left = [], max_flagged_tokens(window)
    for exchange in sorted(wanted, key=lambda e: (not e.flagged, -e.importance)):
        if exchange.tokens <= left:
            important.append(exchange)
            left -= exchange.tokens
    return first + important
