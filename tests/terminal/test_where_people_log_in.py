"""The terminal of a server with several people: it comes in by the name that the server knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chat.actions.tokens import create_token
from chat.terminal import reaching
from chat.terminal.client import Client, Said


@pytest.fixture
def come_in(server_mode: None, address: str, owner: Any, settings: Any) -> Callable[[dict[str, str]], Any]:
    """Returns an asker who sends these headers to a server behind a proxy that speaks TLS."""
    settings.ALLOWED_HOSTS = [".example.org", "chat.example.org"]
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    secret = create_token(owner, "terminal")

    def ask(headers: dict[str, str]) -> Any:
        client = Client(address, secret, headers=headers)
        try:
            pieces = client.ask("Hello", {"conversation": "new"})
            return client.get("facts")["total"], "".join(piece for _chat, piece in pieces)
        finally:
            client.close()

    return ask


def test_it_comes_in_as_through_the_proxy(come_in, settings):
    assert come_in(reaching.headers()) == (0, "Understood.")
    assert reaching.headers() == {"Host": "chat.example.org", "X-Forwarded-Proto": "https"}
    with pytest.raises(Said, match="not one of memoryapp's own"):
        come_in({})


def test_on_ones_own_machine_nothing_is_pretended(settings):
    settings.MODE = "local"
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    assert reaching.headers() == {}
