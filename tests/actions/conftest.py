"""Fixture for conversations whose replies are complete."""

from __future__ import annotations

import pytest

from chat.actions import topics
from chat.actions.messages import finish_reply
from chat.models import Conversation


@pytest.fixture
def chat(talk):
    """Return a function that creates a conversation from user messages, each with a complete reply."""

    def make(*texts: str) -> Conversation:
        conversation = None
        for text in texts:
            asked, reply = talk(text, conversation)
            topics.assign_topic(asked, None, "")
            finish_reply(reply, f"About {text}", "complete")
            conversation = asked.conversation
        return Conversation.objects.get(pk=conversation.pk)

    return make
