"""Conversations that were answered."""

from __future__ import annotations

import pytest

from chat.actions import topics
from chat.actions.messages import finish_reply
from chat.models import Conversation


@pytest.fixture
def chat(talk):
    """Returns a maker of a conversation of finished exchanges; each message of the user's is given."""

    def make(*said: str) -> Conversation:
        conversation = None
        for text in said:
            asked, reply = talk(text, conversation)
            topics.assign(asked, None, "")
            finish_reply(reply, f"About {text}", "complete")
            conversation = asked.conversation
        return Conversation.objects.get(pk=conversation.pk)

    return make
