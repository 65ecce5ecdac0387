"""A conversation whose replies are there at once."""

from __future__ import annotations

import pytest

from chat.actions import messages as actions
from chat.models import Conversation


@pytest.fixture
def say(talk):
    """Returns a sender of messages that are answered at once."""

    def send(text: str, conversation: Conversation | None = None) -> Conversation:
        asked, reply = talk(text, conversation)
        actions.finish_reply(reply, "All right.", "complete")
        return Conversation.objects.get(pk=asked.conversation_id)

    return send
