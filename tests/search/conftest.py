"""Fixture for conversations to search in, and helpers that shorten search results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chat.actions.messages import finish_reply
from chat.models import Conversation
from chat.search.search import Hit, find


@pytest.fixture
def add_exchange(talk) -> Callable[..., Conversation]:
    """Return a function that adds a message with a complete reply and returns the conversation."""

    def exchange(text: str, answer: str = "All right.", chat: Conversation | None = None) -> Conversation:
        asked, reply = talk(text, chat)
        finish_reply(reply, answer, "complete")
        return asked.conversation

    return exchange


def mark_pieces(hit: Hit) -> str:
    """Return the snippet of a hit with brackets around the marked pieces."""
    return "".join(f"[{piece.text}]" if piece.marked else piece.text for piece in hit.pieces)


def find_texts(owner: Any, query: str, *kinds: str) -> list[str]:
    """Return the snippets of the hits of the given kinds (messages by default), best first."""
    return [mark_pieces(hit) for hit in find(owner, query, kinds=kinds or ("message",)).hits]
