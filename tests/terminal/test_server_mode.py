"""The terminal in server mode sends the host and scheme that the server expects."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from chat.actions.api_tokens import create_token
from chat.terminal import connect
from chat.terminal.client import TerminalClient, TerminalError
from memoryapp import asgi
from memoryapp.proxies import TrustedProxies
from tests.live_server import run_server


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


def test_a_server_that_trusts_loopback_accepts_the_same_headers(
    server_mode, transactional_db, scripted, owner, settings, monkeypatch
):
    settings.ALLOWED_HOSTS = ["chat.example.org"]
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    secret = create_token(owner, "terminal")
    monkeypatch.setattr(asgi, "application", TrustedProxies(asgi.application, settings.TRUSTED_PROXIES))
    with run_server() as address:
        client = TerminalClient(address, secret, headers=connect.build_headers())
        pieces = client.ask("Hello", {"conversation": "new"})
        assert "".join(piece for _chat, piece in pieces) == "Understood."
        client.close()


class Redirecting(BaseHTTPRequestHandler):
    """A server that ignores X-Forwarded-Proto and redirects every request to HTTPS."""

    def do_GET(self) -> None:
        self.send_response(301)
        self.send_header("Location", f"https://{self.headers['Host']}{self.path}")
        self.end_headers()


def test_a_server_that_trusts_another_address_only_is_told_as_that():
    with HTTPServer(("127.0.0.1", 0), Redirecting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = TerminalClient(f"http://127.0.0.1:{server.server_port}", "secret")
        with pytest.raises(TerminalError, match="to TRUSTED_PROXIES"):
            client.get("facts")
        client.close()
        server.shutdown()


def test_in_local_mode_no_headers_are_added(settings):
    settings.MODE = "local"
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    assert connect.build_headers() == {}
