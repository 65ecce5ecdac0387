"""Which exchanges of a conversation stay in its prompt when it is compacted: pure decisions (design §6).

An exchange is a user's message with all that answers it, so that a reply never stands without its question
and a tool's result never without its call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .budget import KEEP_LAST, KEEP_LAST_SUMMARISED, flagged_room, head_room

SIMPLE, SUMMARIZATION, HYBRID, TOPICS = "simple", "summarization", "hybrid", "topics"


@dataclass(frozen=True, slots=True)
class Exchange:
    """Messages that belong together, by `seq` in order, with what they take in tokens."""

    seqs: tuple[int, ...]
    tokens: int
    flagged: bool = False
    topic: Any = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What stays: everything after `trimmed_through`, and of what came before the messages `kept`."""

    trimmed_through: int
    kept: tuple[int, ...]

    def holds(self, seq: int) -> bool:
        """Return whether a message stays."""
        return seq > self.trimmed_through or seq in self.kept


def summarises(strategy: str) -> bool:
    """Return whether a strategy puts a rolling summary in the place of what it leaves out.

    `topics` puts the summaries of the other topics there, which are made when those are packed.
    """
    return strategy in (SUMMARIZATION, HYBRID)


def choose(strategy: str, exchanges: Sequence[Exchange], room: int, window: int, topic: Any = None) -> Choice:
    """Return what stays of these exchanges in so many tokens; `topic` is the one now talked about.

    The last six messages stay even where they are too much: who calls shortens them then. `simple` promises
    nothing but the newest.
    """
    least = 0 if strategy == SIMPLE else _shortest_tail(exchanges, KEEP_LAST)
    early = _early(strategy, exchanges[: len(exchanges) - least], window, topic)
    left = room - sum(e.tokens for e in exchanges[len(exchanges) - least :])
    kept: list[Exchange] = []
    for exchange in early:
        if exchange.tokens <= left:
            kept.append(exchange)
            left -= exchange.tokens
    start = len(exchanges) - least
    most = KEEP_LAST_SUMMARISED if strategy == SUMMARIZATION else None
    while start > 0 and (exchanges[start - 1] in kept or exchanges[start - 1].tokens <= left):
        if most is not None and sum(len(e.seqs) for e in exchanges[start - 1 :]) > most:
            break
        start -= 1
        left -= 0 if exchanges[start] in kept else exchanges[start].tokens
    trimmed = exchanges[start - 1].seqs[-1] if start else 0
    seqs = sorted(seq for e in kept for seq in e.seqs if seq <= trimmed)
    return Choice(trimmed, tuple(seqs))


def _shortest_tail(exchanges: Sequence[Exchange], messages: int) -> int:
    """Return how many of the last exchanges hold at least so many messages."""
    count = held = 0
    while count < len(exchanges) and held < messages:
        count += 1
        held += len(exchanges[-count].seqs)
    return count


def _early(strategy: str, before: Sequence[Exchange], window: int, topic: Any) -> list[Exchange]:
    """Return what a strategy would keep of the exchanges before the last ones, the dearest first."""
    if strategy == TOPICS:
        return [e for e in reversed(before) if topic is not None and e.topic == topic]
    if strategy != HYBRID:
        return []
    first = [e for e in before[:1] if e.tokens <= head_room(window)]
    flagged, left = [], flagged_room(window)
    for exchange in reversed(before):
        if exchange.flagged and exchange not in first and exchange.tokens <= left:
            flagged.append(exchange)
            left -= exchange.tokens
    return first + flagged
