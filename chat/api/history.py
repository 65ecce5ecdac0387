"""Reads the messages of a conversation for programs: all of them, or the newest within a number of tokens.

The newest are read only as far back as needed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from chat.context.strategies import group_tool_calls
from chat.errors import ModelNotReady
from chat.llm.registry import registry
from chat.models import Conversation, Message, MessageState
from chat.models.message import MessageQuerySet
from chat.topics.contents import is_content_lost, load_contents
from memoryapp.base import logs

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


logger = logging.getLogger(__name__)
# Rows of the first portion that is read from a session's end, and of the largest: each portion is twice as
# large as the one before, so that few rows are read in vain and a long end needs few queries.
FIRST_PORTION, LARGEST_PORTION = 50, 400


def readable_messages(conversation: Conversation) -> MessageQuerySet:
    """Return the messages of a conversation that programs read, in order.

    Replies that are still being written, and failed ones without text, are not included.
    """
    shown = Message.objects.filter(conversation=conversation).current_branch()
    return shown.exclude(state=MessageState.STREAMING).exclude(state=MessageState.FAILED, content="")


def load_undamaged(rows: MessageQuerySet) -> list[Message]:
    """Return messages with their contents, packed ones too; damaged ones are logged and left out."""
    # Messages that an archive lost were logged; their placeholder sentence is not part of the history.
    return [row for row in load_contents(rows.load_undamaged()) if not is_content_lost(row)]


def convert_messages(rows: Iterable[Message]) -> Iterator[SessionMessage]:
    """Yield rows as session messages; a damaged one is logged and left out."""
    for row in rows:
        try:
            yield SessionMessage(
                role=row.role,
                content=row.content,
                tool_calls=row.tool_calls,
                tool_call_id=row.tool_call_id or None,
                name=row.name or None,
                created_at=row.created_at,
            )
        except ValidationError as error:
            logger.error("message %s cannot be read and is left out: %s", row.pk, logs.describe_error(error))


Pair = tuple[Message, SessionMessage]


class LoadedEnd:
    """The newest messages of some rows of a conversation, read as far back as `max_tokens` reach.

    Two queries for each portion of 50 to 400 rows, and one more where messages of the portion are packed.
    """

    def __init__(
        self, rows: MessageQuerySet, max_tokens: int, count: Callable[[SessionMessage], int]
    ) -> None:
        self._all_rows = rows
        self._before: int | None = None
        self._rows: list[Message] = []
        self._end = SessionEnd(self._read_portions(), self._iterate_calls, max_tokens, count)

    def is_whole(self, max_tokens: int) -> bool:
        """Return whether all messages fit into so many tokens."""
        return not self._end.is_cut and len(self.select(max_tokens)) == len(self._rows)

    def select(self, max_tokens: int, max_messages: int | None = None) -> list[Pair]:
        """Return the newest messages that fit, with their rows, in time order.

        `max_tokens` is at most that of the constructor. A tool call and its results are kept together.
        """
        count = self._end.select(max_tokens, max_messages)
        start = len(self._rows) - count
        return list(zip(self._rows[start:], self._end.messages[start:], strict=True))

    def _read_portions(self) -> Iterator[list[SessionMessage]]:
        size = FIRST_PORTION
        while True:
            left = self._list_rows_left()
            places = list(left.reverse().values_list("seq", flat=True)[:size])
            if not places:
                return
            self._before = places[-1]
            found = [
                (row, message)
                for row in load_undamaged(left.filter(seq__gte=self._before))
                for message in convert_messages([row])
            ]
            self._rows = [*(row for row, _ in found), *self._rows]
            yield [message for _, message in found]
            if len(places) < size:
                return
            size = min(2 * size, LARGEST_PORTION)

    def _list_rows_left(self) -> MessageQuerySet:
        rows = self._all_rows
        return rows if self._before is None else rows.filter(seq__lt=self._before)

    def _iterate_calls(self) -> Iterator[list[dict[str, Any]]]:
        calling = self._list_rows_left().filter(tool_calls__isnull=False).reverse()
        for calls in calling.values_list("tool_calls", flat=True).iterator(FIRST_PORTION):
            if isinstance(calls, list) and all(isinstance(call, dict) for call in calls) and calls:
                yield calls
