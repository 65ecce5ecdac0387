"""Conversations of any length, without a model having written them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from chat.actions import prompts
from chat.actions.owners import default_app
from chat.context.prompt import Prompt, build
from chat.llm.scripted import ScriptedProvider
from chat.models import Conversation, Message


@pytest.fixture
def provider() -> ScriptedProvider:
    """A model that counts four characters a token."""
    return ScriptedProvider()


@pytest.fixture
def make_conversation(owner: Any) -> Callable[..., Conversation]:
    """Returns a maker of conversations whose messages alternate, the user's first."""

    def make(contents: Sequence[str] = (), **fields: Any) -> Conversation:
        conversation = Conversation.objects.create(owner=owner, app=default_app(owner), **fields)
        Message.objects.bulk_create(
            Message(
                conversation=conversation, seq=i, role="assistant" if i % 2 == 0 else "user", content=text
            )
            for i, text in enumerate(contents, start=1)
        )
        return conversation

    return make


@pytest.fixture
def say() -> Callable[[Conversation, str], Message]:
    """Returns a writer of the user's next message."""

    def write(conversation: Conversation, text: str) -> Message:
        place = Message.objects.filter(conversation=conversation).count() + 1
        return Message.objects.create(conversation=conversation, seq=place, role="user", content=text)

    return write


@pytest.fixture
def turn(say: Any, provider: ScriptedProvider) -> Callable[..., Prompt]:
    """Returns a whole turn: the user writes, the prompt is built and recorded, the model answers."""

    def take(conversation: Conversation, text: str, answer: str = "Understood.") -> Prompt:
        asked = say(conversation, text)
        conversation.refresh_from_db()
        prompt = build(conversation, asked, provider)
        reply = Message.objects.create(
            conversation=conversation, seq=asked.seq + 1, role="assistant", content=answer
        )
        prompts.record_prompt(conversation, asked, reply, prompt, provider.context_window)
        return prompt

    return take
