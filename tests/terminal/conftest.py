"""A terminal session connected to a running server; its input is a list of lines, its output a string."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chat.actions.api_tokens import create_token
from chat.commands import COMMANDS
from chat.terminal.client import TerminalClient
from chat.terminal.commands import TerminalSession
from chat.terminal.repl import run_repl
from chat.terminal.screen import LineReader, Screen


@pytest.fixture
def talk_of(address: str) -> Iterator[Callable[..., TerminalSession]]:
    """Return a function that makes a terminal session of a user."""
    clients: list[TerminalClient] = []

    def make(user: Any, **options: Any) -> TerminalSession:
        clients.append(TerminalClient(address, create_token(user, f"terminal {len(clients)}")))
        return TerminalSession(clients[-1], Screen(io.StringIO(), coloured=False), **options)

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def talk(talk_of: Callable[..., TerminalSession], owner: Any) -> TerminalSession:
    """A terminal session of the owner."""
    return talk_of(owner)


def type_lines(session: TerminalSession, *lines: str) -> str:
    """Type lines into a terminal session and return its output."""
    out = io.StringIO()
    session.screen = Screen(out, coloured=False)
    run_repl(session, LineReader(COMMANDS, io.StringIO("\n".join(lines) + "\n")))
    return out.getvalue()


@pytest.fixture
def typed(talk: TerminalSession) -> Callable[..., str]:
    """Return a function that types lines into the terminal and returns its output."""

    def type_in(*lines: str, at: TerminalSession = talk) -> str:
        return type_lines(at, *lines)

    return type_in
