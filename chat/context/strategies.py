"""The exchanges of a conversation, and which of them stay in its prompt after a compaction. No database.

An exchange is a user's message with all messages that answer it, so that a reply never appears without its
question, and the result of a tool never without its call. A system message is an exchange of its own. A
strategy chooses among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from chat.llm.types import ToolCall

from .budget import KEEP_LAST, KEEP_LAST_SUMMARISED, max_flagged_tokens, max_head_tokens, max_system_tokens
from .importance import IMPORTANT


class HasToolCalls(Protocol):
    """A message of any kind: a row, or one of a program."""

    @property
    def role(self) -> Any:
        """Return who wrote it."""
        ...

    @property
    def tool_calls(self) -> Any:
        """Return the calls in OpenAI's form, as a list of dicts; None without any."""
        ...

    @property
    def tool_call_id(self) -> str | None:
        """Return the id of the call that this message is the result of."""
        ...


M = TypeVar("M", bound=HasToolCalls)


def group_tool_calls(messages: Sequence[M]) -> list[list[M]]:
    """Return the messages in groups: a tool call, its results and what is between them are one group.

    A result without a known id belongs to the last call before it. Every other message is a group.
    """
    # `last[i]` is the index of the last message in the group that begins with message `i`. A later call may
    # reuse the id of an earlier one; then a result belongs to the later call.
    last = list(range(len(messages)))
    called: dict[str, int] = {}
    latest: int | None = None
    for place, message in enumerate(messages):
        if message.tool_calls:
            latest = place
            called.update((_get_id(call), place) for call in message.tool_calls)
        elif message.role == "tool":
            caller = called.get(message.tool_call_id, latest) if message.tool_call_id else latest
            if caller is not None:
                last[caller] = place
    groups: list[list[M]] = []
    end = -1
    for place, message in enumerate(messages):
        if place > end:
            groups.append([])
        groups[-1].append(message)
        end = max(end, last[place])
    return groups


def split_into_exchanges(messages: Sequence[M]) -> list[list[M]]:
    """Return the messages as exchanges: a user's message with all that answers it.

    A tool call and its results are in one exchange, also where a result came after the next user's message.
    """
    found: list[list[M]] = []
    for group in group_tool_calls(messages):
        if group[0].role == "user" or not found:
            found.append([])
        found[-1].extend(group)
    return found


def parse_tool_calls(message: HasToolCalls) -> tuple[ToolCall, ...]:
    """Return the tool calls of a message; () for damaged ones."""
    stored = message.tool_calls
    return tuple(map(ToolCall.from_json, stored)) if isinstance(stored, list) else ()


def _get_id(call: Any) -> str:
    return str(call.get("id")) if isinstance(call, dict) else ""


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
