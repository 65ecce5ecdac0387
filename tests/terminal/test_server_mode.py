"""The terminal in server mode sends the host and scheme that the server expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chat.actions.api_tokens import create_token
from chat.terminal import connect
from chat.terminal.client import TerminalClient, TerminalError


@pytest.fixture
def ask_behind_proxy(
    server_mode: None, address: str, owner: Any, settings: Any
) -> Callable[[dict[str, str]], Any]:
    """Return a function that asks, with these headers, a server that expects a TLS proxy."""
    settings.ALLOWED_HOSTS = [".example.org", "chat.example.org"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    secret = create_token(owner, "terminal")

    def ask(headers: dict[str, str]) -> Any:
        client = TerminalClient(address, secret, headers=headers)
        try:
            pieces = client.ask("Hello", {"conversation": "new"})
            return client.get("facts")["total"], "".join(piece for _chat, piece in pieces)
        finally:
            client.close()

    return ask


def test_requests_look_as_if_they_came_through_the_proxy(ask_behind_proxy, settings):
    assert ask_behind_proxy(connect.build_headers()) == (0, "Understood.")
    assert connect.build_headers() == {"Host": "chat.example.org", "X-Forwarded-Proto": "https"}
    with pytest.raises(TerminalError, match="not one of memoryapp's own"):
        ask_behind_proxy({})


def test_in_local_mode_no_headers_are_added(settings):
    settings.MODE = "local"
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    assert connect.build_headers() == {}
