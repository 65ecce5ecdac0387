"""Leaves out of texts that are written about a conversation what the user asked not to save or to forget."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from chat.memory.clauses import judge_requests
from chat.memory.memory_requests import keeps_out_next_message
from chat.models import Message, Role


def leave_out_kept(messages: Sequence[Message]) -> list[Message]:
    """Return the messages, those of the user without the sentences that they asked not to save or to forget.

    A message that only asks not to save something means the user's next one. The returned messages are copies
    where something is left out; do not save them.
    """
    left = []
    earlier = ""
    for message in messages:
        if message.role == Role.USER:
            is_kept_out = bool(earlier) and keeps_out_next_message(earlier)
            earlier = message.content
            message = _copy_with(message, "" if is_kept_out else leave_out_sentences(message.content))
        left.append(message)
    return left


def leave_out_sentences(text: str) -> str:
    """Return a text without the sentences that it asks not to save or to forget, else unchanged."""
    pieces = judge_requests(text)
    if not any(piece.reason for piece in pieces):
        return text
    return " ".join(piece.text for piece in pieces if not piece.reason)


def _copy_with(message: Message, content: str) -> Message:
    if content == message.content:
        return message
    changed = copy.copy(message)
    changed.content = content
    return changed
