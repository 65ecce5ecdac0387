"""Selects the newest messages within a number of tokens, and counts the tokens of a message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from chat.context.exchanges import group_tool_calls
from chat.errors import ModelNotReady
from chat.llm.registry import registry

from .schema import SessionMessage


def select_newest_that_fit(
    messages: Sequence[SessionMessage],
    max_tokens: int,
    count: Callable[[SessionMessage], int],
    max_messages: int | None = None,
) -> list[SessionMessage]:
    """Return the newest messages whose tokens sum up to `max_tokens` at most, in time order.

    At most `max_messages` of them, if given. A tool call and its results are selected together or not at all:
    models refuse one without the other. Counts only as far back as needed.
    """
    most = len(messages) if max_messages is None else max_messages
    selected: list[list[SessionMessage]] = []
    tokens = number = 0
    for group in reversed(group_exchanges(messages)):
        tokens, number = tokens + sum(map(count, group)), number + len(group)
        if tokens > max_tokens or number > most:
            break
        selected.append(group)
    return [message for group in reversed(selected) for message in group]


def group_exchanges(messages: Sequence[SessionMessage]) -> list[list[SessionMessage]]:
    """Return the messages in groups; a tool call and its results are in one group."""
    return group_tool_calls(messages)


def find_orphaned_results(messages: Sequence[SessionMessage], start: int) -> set[str | None]:
    """Return the call ids of the tool results from index `start` on whose call is not among the messages.

    None stands for a result without an id, where no call precedes it.
    """
    called: set[str] = set()
    orphaned: set[str | None] = set()
    for place, message in enumerate(messages):
        if message.tool_calls:
            called.update(str(call.get("id")) for call in message.tool_calls)
        elif message.role == "tool" and place >= start:
            if message.tool_call_id and message.tool_call_id not in called:
                orphaned.add(message.tool_call_id)
            elif not message.tool_call_id and not called:
                orphaned.add(None)
    return orphaned


class SessionEnd:
    """The newest messages of a session, loaded in portions as far back as a number of tokens reaches.

    Gives the same selections as `select_newest_that_fit` on the whole session, for every limit up to
    `max_tokens`. `portions` yields messages in time order, the newest portion first; it is read only as far
    as needed. `iterate_calls` yields the tool calls of the messages before those that were read, the last
    message first; it is read only where a result in a selection misses its call.
    """

    def __init__(
        self,
        portions: Iterable[Sequence[SessionMessage]],
        iterate_calls: Callable[[], Iterable[Sequence[dict[str, Any]]]],
        max_tokens: int,
        count: Callable[[SessionMessage], int],
    ) -> None:
        self._count = count
        self._iterate_calls = iterate_calls
        self._earlier: list[SessionMessage] = []
        self._is_resolved = False
        self.messages: list[SessionMessage] = []
        spent = 0
        # Whether the session continues before `messages`, as far as is known.
        self.is_cut = False
        for portion in portions:
            self.messages = [*portion, *self.messages]
            spent += sum(map(count, portion))
            if spent > max_tokens:
                self.is_cut = True
                break

    def select(self, max_tokens: int, max_messages: int | None = None) -> int:
        """Return how many of the newest messages `select_newest_that_fit` selects from the whole session."""
        fitting = self._select(max_tokens, max_messages)
        if not self.is_cut or self._is_resolved:
            return fitting
        if find_orphaned_results(self.messages, len(self.messages) - fitting):
            self._resolve()
            fitting = self._select(max_tokens, max_messages)
        return fitting

    def _select(self, max_tokens: int, max_messages: int | None) -> int:
        known = [*self._earlier, *self.messages]
        return len(select_newest_that_fit(known, max_tokens, self._count, max_messages))

    def _resolve(self) -> None:
        """Let one message stand for the earlier calls: neither it nor a result of it is ever selected."""
        missing = find_orphaned_results(self.messages, 0) - {None}
        calls: list[dict[str, Any]] = []
        for found in self._iterate_calls():
            calls.extend(found)
            missing -= {str(call.get("id")) for call in found}
            if not missing:
                break
        if calls:
            self._earlier = [SessionMessage(role="assistant", tool_calls=calls)]
        self._is_resolved = True


# Characters of a token where no tokenizer is loaded.
_CHARACTERS = 4
# What a chat template adds to a message at most.
_TEMPLATE_TOKENS = 8


@dataclass(frozen=True, slots=True)
class MessageCounter:
    """Counts the tokens of messages; `exact` is true where a model's tokenizer counts, `name` names it."""

    name: str
    exact: bool
    text: Callable[[str], int]

    def of(self, message: SessionMessage) -> int:
        """Return the tokens of a message with its tool calls and, where exact, its chat template."""
        calls = json.dumps(message.tool_calls) if message.tool_calls else ""
        return self.text(message.content + calls) + (_TEMPLATE_TOKENS if self.exact else 0)


def _estimate(text: str) -> int:
    return -(-len(text) // _CHARACTERS)


ESTIMATING_COUNTER = MessageCounter(f"{_CHARACTERS} characters a token", exact=False, text=_estimate)


def select_counter() -> MessageCounter:
    """Return the counter of the model that this process has loaded, else the estimating one."""
    try:
        provider = registry.provider()
    except ModelNotReady:
        return ESTIMATING_COUNTER
    return MessageCounter(provider.name, exact=True, text=provider.count_text)
