"""Which end of a session fits into a number of tokens: pure, over messages in time order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, takewhile

from .schema import Message


def newest_that_fit(
    messages: Sequence[Message], max_tokens: int, count: Callable[[Message], int]
) -> list[Message]:
    """Return the longest end of the session within `max_tokens`, in time order (seed 001, its prose).

    A call of tools and its results go together or not at all: a model refuses one without the other. Counts
    no further back than it must.
    """
    groups = exchanges(messages)
    spent = accumulate(sum(map(count, group)) for group in reversed(groups))
    fitting = sum(1 for _ in takewhile(lambda tokens: tokens <= max_tokens, spent))
    return [message for group in groups[len(groups) - fitting :] for message in group]


def exchanges(messages: Sequence[Message]) -> list[list[Message]]:
    """Return the session divided wherever no call of a tool is parted from one of its results."""
    # The last place that belongs together with each place; ids may come again in a later call.
    last = list(range(len(messages)))
    called: dict[str, int] = {}
    latest: int | None = None
    for place, message in enumerate(messages):
        if message.tool_calls:
            latest = place
            called.update((str(call.get("id")), place) for call in message.tool_calls)
        elif message.role == "tool":
            caller = called.get(message.tool_call_id, latest) if message.tool_call_id else latest
            if caller is not None:
                last[caller] = place
    groups: list[list[Message]] = []
    end = -1
    for place, message in enumerate(messages):
        if place > end:
            groups.append([])
        groups[-1].append(message)
        end = max(end, last[place])
    return groups
