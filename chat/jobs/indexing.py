"""The index of words in the background: filled where it has gaps, and written anew after deletions."""

from __future__ import annotations

from typing import Any

from chat.actions import indexing

from . import schedule
from .registry import handles

_CHATS = 25  # whose messages are read at once


@handles("sweep_index", slow=True, model=False, again=schedule.half_an_hour_later)
def sweep_index(payload: dict[str, Any]) -> None:
    """Index what was said before there was an index, or came by an import; the newest chats first."""
    keys = list(indexing.missing().values_list("pk", flat=True))
    filled = sum(indexing.fill(keys[start : start + _CHATS]) for start in range(0, len(keys), _CHATS))
    if filled > indexing.BATCH:
        # What was written in many parts is read faster as one.
        indexing.tidy()


@handles("tidy_index", slow=True, model=False)
def tidy_index(payload: dict[str, Any]) -> None:
    """Have what was deleted leave the index's file."""
    indexing.tidy()
