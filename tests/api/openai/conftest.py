"""Clients of the `openai` package, connected to a running server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

from chat.actions.api_tokens import create_token


@pytest.fixture
def client_of(address: str) -> Iterator[Callable[..., openai.OpenAI]]:
    """Return a function that makes a client with a new token of a user, or with the given key."""
    made: list[openai.OpenAI] = []

    def client(user: Any = None, key: str = "") -> openai.OpenAI:
        key = key or create_token(user, f"program {len(made)}")
        made.append(openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0, timeout=30))
        return made[-1]

    yield client
    for one in made:
        one.close()


@pytest.fixture
def client(client_of: Callable[..., openai.OpenAI], owner: Any) -> openai.OpenAI:
    """A client with a token of the owner."""
    return client_of(owner)


@pytest.fixture
def ask(client: openai.OpenAI) -> Callable[..., Any]:
    """Return a function that requests a completion; a message is a user text or a (role, text) pair."""

    def send(*said: str | tuple[str, str], **options: Any) -> Any:
        turns = [("user", one) if isinstance(one, str) else one for one in said]
        messages = [{"role": role, "content": text} for role, text in turns]
        return client.chat.completions.create(model="any", messages=messages, **options)

    return send
