"""Fixtures with past conversations, indexed by words and by the real embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chat.actions import indexing, message_windows, prompts
from chat.actions.owners import default_app
from chat.context.prompt import Prompt, build_prompt
from chat.llm.embedder import Embedder
from chat.llm.registry import registry
from chat.llm.scripted import ScriptedProvider
from chat.llm.use_embedder import UseEmbedder
from chat.models import Conversation, Message, Role


@pytest.fixture(scope="session")
def _multilingual_embedder() -> Embedder:
    return UseEmbedder("use-multilingual-v3")


@pytest.fixture
def embedder(
    monkeypatch: pytest.MonkeyPatch, scripted: ScriptedProvider, _multilingual_embedder: Embedder
) -> Embedder:
    """The real multilingual embedder, beside the scripted model."""
    monkeypatch.setattr(registry, "_embedder", _multilingual_embedder)
    return _multilingual_embedder


@pytest.fixture
def provider(scripted: ScriptedProvider) -> ScriptedProvider:
    """A scripted model; it counts four characters as one token."""
    return scripted


@pytest.fixture
def store_chat(owner: Any) -> Callable[..., Conversation]:
    """Return a function that stores a conversation of alternating messages, the user's first.

    `days` is how many days ago it was. It is indexed by words only.
    """

    def store(*contents: str, days: float = 7, **fields: Any) -> Conversation:
        fields = {"owner": owner, **fields}
        fields.setdefault("app", default_app(fields["owner"]))
        day = timezone.now() - timedelta(days=days)
        conversation = Conversation.objects.create(**fields, created_at=day, updated_at=day)
        rows = [
            Message(
                conversation=conversation,
                seq=seq,
                role=Role.USER if seq % 2 else Role.ASSISTANT,
                content=content,
                created_at=day,
            )
            for seq, content in enumerate(contents, 1)
        ]
        Message.objects.bulk_create(rows)
        indexing.index_messages(rows)
        return conversation

    return store


@pytest.fixture
def index_all() -> Callable[[Embedder | None], None]:
    """Return a function that makes the windows of all messages, with this embedder's vectors."""

    def index(embedder: Embedder | None) -> None:
        for key in message_windows.find_conversations_without_windows():
            while message_windows.index_portion(key, embedder):
                pass

    return index


@pytest.fixture
def remember(
    store_chat: Callable[..., Conversation], index_all: Callable[..., None], embedder: Embedder
) -> Callable[..., Conversation]:
    """Return a function that stores a conversation and indexes it by words and by meaning."""

    def store(*contents: str, **fields: Any) -> Conversation:
        conversation = store_chat(*contents, **fields)
        index_all(embedder)
        return conversation

    return store


@pytest.fixture
def ask(owner: Any, provider: ScriptedProvider) -> Callable[..., Prompt]:
    """Return a function that sends a message, records its prompt with a reply, and returns the prompt.

    Without a conversation it opens a new one.
    """

    def send(text: str, conversation: Conversation | None = None, **fields: Any) -> Prompt:
        if conversation is None:
            fields = {"owner": owner, **fields}
            fields.setdefault("app", default_app(fields["owner"]))
            conversation = Conversation.objects.create(**fields)
        place = Message.objects.filter(conversation=conversation).count() + 1
        asked = Message.objects.create(conversation=conversation, seq=place, role=Role.USER, content=text)
        conversation.refresh_from_db()
        prompt = build_prompt(conversation, asked, provider)
        reply = Message.objects.create(
            conversation=conversation, seq=place + 1, role=Role.ASSISTANT, content="Understood."
        )
        prompts.record_prompt(conversation, asked, reply, prompt, provider.context_window)
        return prompt

    return send


def read_prompt(prompt: Prompt) -> str:
    """Return all texts of a prompt."""
    return "\n".join(turn.content for turn in prompt.turns)


def list_quoted(prompt: Prompt) -> Sequence[str]:
    """Return the quoted sentences of a prompt's own message."""
    return [one.text for one in prompt.quotations]
