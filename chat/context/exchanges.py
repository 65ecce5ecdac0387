"""Splits messages into exchanges, and keeps tool calls with their results. No database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from chat.llm.types import ToolCall


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
