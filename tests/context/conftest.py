"""Fixtures that create conversations of any length and take turns in them without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from chat.actions import prompts
from chat.actions.owners import default_app
from chat.context.prompt import Prompt, build_prompt
from chat.llm.scripted import ScriptedProvider
from chat.models import Conversation, Message


@pytest.fixture
def provider() -> ScriptedProvider:
    """A scripted model; it counts four characters as one token."""
    return ScriptedProvider()


@pytest.fixture
def make_conversation(owner: Any) -> Callable[..., Conversation]:
    """Return a function that creates a conversation of alternating messages, starting with the user."""

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
def add_user_message() -> Callable[[Conversation, str], Message]:
    """Return a function that adds a user message to a conversation."""

    def add_message(conversation: Conversation, text: str) -> Message:
        place = Message.objects.filter(conversation=conversation).count() + 1
        return Message.objects.create(conversation=conversation, seq=place, role="user", content=text)

    return add_message


@pytest.fixture
def turn(add_user_message: Any, provider: ScriptedProvider) -> Callable[..., Prompt]:
    """Return a function that adds a message and a reply, records the message's prompt and returns it."""

    def take(conversation: Conversation, text: str, answer: str = "Understood.") -> Prompt:
        asked = add_user_message(conversation, text)
        conversation.refresh_from_db()
        prompt = build_prompt(conversation, asked, provider)
        reply = Message.objects.create(
            conversation=conversation, seq=asked.seq + 1, role="assistant", content=answer
        )
        prompts.record_prompt(conversation, asked, reply, prompt, provider.context_window)
        return prompt

    return take
