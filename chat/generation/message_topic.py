"""Assigns a user's message to a topic of its conversation, by the vector of its text."""

from __future__ import annotations

import logging

from chat.actions import topics
from chat.llm.embedder import embed_text
from chat.llm.registry import registry
from chat.models import Message
from chat.topics.match import Vector, is_too_short

logger = logging.getLogger(__name__)


def assign_topic(message: Message) -> None:
    """Assign a user's message to its topic. Errors are logged and not raised: the reply matters more.

    Embeds the message: call it outside any transaction.
    """
    try:
        vector, embedder = embed_message(message.content)
        topics.assign_topic(message, vector, embedder)
    except Exception:
        logger.exception(
            "the message could not be assigned to a topic",
            extra={"conversation": str(message.conversation_id)},
        )


def embed_message(text: str) -> tuple[Vector | None, str]:
    """Return a message's vector (float32) and the embedder's name.

    (None, "") without a vector.
    """
    embedder = registry.embedder()
    # A short message stays in the current topic anyway.
    if embedder is None or is_too_short(text):
        return None, ""
    try:
        return embed_text(embedder, text), embedder.name
    except OSError:
        # The weights were deleted after the embedder was set up.
        return None, ""
