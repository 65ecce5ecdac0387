"""What tests of replies do again and again."""

from __future__ import annotations

from chat.generation import run as generation
from chat.models import Message


def ended(reply: Message) -> Message:
    """Wait for every reply, and return this one as it was saved."""
    generation.wait()
    reply.refresh_from_db()
    return reply
