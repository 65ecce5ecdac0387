"""Reads the messages of a conversation for programs: all of them, or the newest as far back as needed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from chat.models import Conversation, Message, MessageState
from chat.models.message import MessageQuerySet
from chat.topics.contents import is_content_lost, load_contents
from memoryapp.base import logs

from .recent import SessionEnd
from .schema import SessionMessage

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
