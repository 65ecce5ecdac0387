"""Leaves out what the user asked not to save, for texts that are written about a conversation."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from chat.memory import speech_acts
from chat.memory.clauses import judge_requests
from chat.models import Message, Role


def leave_out_kept(messages: Sequence[Message]) -> list[Message]:
    """Return the messages, those of the user without the sentences that they asked not to save.

    The returned messages are copies where something is left out; do not save them.
    """
    return [_copy_without(m) if m.role == Role.USER else m for m in messages]


def _copy_without(message: Message) -> Message:
    pieces = judge_requests(message.content)
    if all(piece.reason != speech_acts.KEPT_OUT for piece in pieces):
        return message
    changed = copy.copy(message)
    changed.content = " ".join(piece.text for piece in pieces if piece.reason != speech_acts.KEPT_OUT)
    return changed
