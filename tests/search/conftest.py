"""Chats to search in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chat.actions.messages import finish_reply
from chat.models import Conversation
from chat.search.finding import Hit, find


@pytest.fixture
def say(talk) -> Callable[..., Conversation]:
    """Returns a maker of exchanges with a given reply; returns the conversation."""

    def exchange(text: str, answer: str = "All right.", chat: Conversation | None = None) -> Conversation:
        asked, reply = talk(text, chat)
        finish_reply(reply, answer, "complete")
        return asked.conversation

    return exchange


def told(hit: Hit) -> str:
    """Return a hit's snippet with brackets around what is marked."""
    return "".join(f"[{piece.text}]" if piece.marked else piece.text for piece in hit.pieces)


def texts(owner: Any, query: str, *kinds: str) -> list[str]:
    """Return what is found of these kinds, else of messages, the best first."""
    return [told(hit) for hit in find(owner, query, kinds=kinds or ("message",)).hits]
