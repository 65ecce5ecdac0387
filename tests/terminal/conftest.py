"""A terminal at a running server: what is typed comes from a list, what is shown goes into a string."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chat.actions.tokens import create_token
from chat.commands import COMMANDS
from chat.terminal.client import Client
from chat.terminal.commands import Talk
from chat.terminal.screen import Lines, Screen
from chat.terminal.talking import talk_until_end
from tests.serving import served


@pytest.fixture
def address(transactional_db: None, scripted: Any) -> Iterator[str]:
    """A running server."""
    with served() as there:
        yield there


@pytest.fixture
def talk_of(address: str) -> Iterator[Callable[..., Talk]]:
    """Returns a maker of a user's terminals."""
    clients = []

    def make(user: Any, **options: Any) -> Talk:
        clients.append(Client(address, create_token(user, f"terminal {len(clients)}")))
        return Talk(clients[-1], Screen(io.StringIO(), coloured=False), **options)

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def talk(talk_of: Callable[..., Talk], owner: Any) -> Talk:
    """The owner's terminal."""
    return talk_of(owner)


@pytest.fixture
def typed(talk: Talk) -> Callable[..., str]:
    """Returns a typist: gives lines to the terminal and returns what it shows."""

    def type_in(*lines: str, at: Talk = talk) -> str:
        out = io.StringIO()
        at.screen = Screen(out, coloured=False)
        talk_until_end(at, Lines(COMMANDS, io.StringIO("\n".join(lines) + "\n")))
        return out.getvalue()

    return type_in
