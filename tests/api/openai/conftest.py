"""The real `openai` package at the door of a real server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest

from chat.actions.tokens import create_token
from tests.serving import served


@pytest.fixture
def address(transactional_db: None, scripted: Any) -> Iterator[str]:
    """A running server."""
    with served() as there:
        yield there


@pytest.fixture
def client_of(address: str) -> Iterator[Callable[..., openai.OpenAI]]:
    """Returns a maker of clients with a user's token, or with any key."""
    made = []

    def client(user: Any = None, key: str = "") -> openai.OpenAI:
        key = key or create_token(user, f"program {len(made)}")
        made.append(openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0, timeout=30))
        return made[-1]

    yield client
    for one in made:
        one.close()


@pytest.fixture
def client(client_of: Callable[..., openai.OpenAI], owner: Any) -> openai.OpenAI:
    """The owner's program."""
    return client_of(owner)


@pytest.fixture
def ask(client: openai.OpenAI) -> Callable[..., Any]:
    """Returns a sender of messages, each a text of the user's or a pair of role and text."""

    def send(*said: str | tuple[str, str], **options: Any) -> Any:
        turns = [("user", one) if isinstance(one, str) else one for one in said]
        messages = [{"role": role, "content": text} for role, text in turns]
        return client.chat.completions.create(model="any", messages=messages, **options)

    return send


@pytest.fixture
def gate(scripted: Any) -> Iterator[threading.Semaphore]:
    """Holds every word of a reply back until the test releases it."""
    scripted.gate = threading.Semaphore(0)
    yield scripted.gate
    scripted.gate.release(10_000)
