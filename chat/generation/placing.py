"""Finds the topic of a message before it is answered (design §7)."""

from __future__ import annotations

import logging

from chat.actions import topics
from chat.llm.registry import registry
from chat.memory.asking import read
from chat.models import Message
from chat.topics.match import Vector, is_short

logger = logging.getLogger(__name__)


def place(message: Message) -> None:
    """Put a user's message into its topic; whatever goes wrong is logged, since the reply matters more.

    Embeds the message (some 9 ms), so call it outside any transaction.
    """
    try:
        vector, embedder = embedded(message.content)
        topics.assign(message, vector, embedder)
    except Exception:
        logger.exception("a message found no topic", extra={"conversation": str(message.conversation_id)})


def embedded(text: str) -> tuple[Vector | None, str]:
    """Return a message's vector and whose it is, None where words must do; takes some 9 ms."""
    embedder = registry.embedder()
    # The embedder reads English only, and what is short stays where it is.
    if embedder is None or is_short(text) or not read(text).english:
        return None, ""
    try:
        return embedder.embed([text])[0], embedder.name
    except OSError:
        # Its weights have gone since it was found.
        return None, ""
