"""Helper that waits for replies to end."""

from __future__ import annotations

from chat.generation import run as generation
from chat.models import Message


def wait_for_reply(reply: Message) -> Message:
    """Wait until no reply is running, and return the given reply reloaded from the database."""
    generation.wait_all()
    reply.refresh_from_db()
    return reply
