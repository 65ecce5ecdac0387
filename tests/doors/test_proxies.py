"""Headers of reverse proxies count from TRUSTED_PROXIES only; ports of origins; a path in front of all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.conf import settings
from django.urls import get_resolver

from memoryapp.base import refusals
from memoryapp.base.env import BadValue
from memoryapp.base.public_address import OWN_PLACES, envnetworks, envorigins, envpath
from memoryapp.proxies import BasePath, PortOfOrigin, TrustedProxies

PROXY, OUTER, CLIENT, STRANGER = "10.0.0.5", "10.0.0.9", "203.0.113.7", "198.51.100.1"


def ask(
    middleware: Any, *setting: Any, peer: str = PROXY, path: str = "/", kind: str = "http", **headers: str
) -> Any:
    """Return the scope that the application sees, with its headers as a dictionary."""
    seen: list[dict[str, Any]] = []

    async def application(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(scope)

    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {
        **{"type": kind, "scheme": "ws" if kind == "websocket" else "http", "client": (peer, 1234)},
        **{"path": path, "raw_path": path.encode(), "root_path": "", "headers": sent},
    }
    asyncio.run(middleware(application, *setting)(scope, None, None))
    return {**seen[0], "headers": {k.decode(): v.decode() for k, v in seen[0]["headers"]}}


def ask_proxied(peer: str = PROXY, trusted: tuple[str, ...] = ("10.0.0.0/8",), **more: Any) -> Any:
    headers = {"host": "inner:8000", "x_forwarded_for": CLIENT, "x_forwarded_proto": "https"}
    return ask(TrustedProxies, trusted, peer=peer, **{**headers, **more})


def test_a_trusted_proxy_says_client_scheme_and_host():
    seen = ask_proxied(x_forwarded_host="chat.example.org:8443")
    assert (seen["client"][0], seen["scheme"]) == (CLIENT, "https")
    assert seen["headers"] == {"host": "chat.example.org:8443"}


def test_a_socket_gets_the_secure_scheme_too():
    assert ask_proxied(kind="websocket")["scheme"] == "wss"


def test_from_anybody_else_the_headers_are_dropped_and_logged(caplog, monkeypatch):
    monkeypatch.setattr(refusals, "MOST_LINES", 10**6)
    seen = ask_proxied(STRANGER, x_forwarded_host="evil.example", forwarded="for=1.2.3.4")
    assert (seen["client"][0], seen["scheme"]) == (STRANGER, "http")
    assert seen["headers"] == {"host": "inner:8000"}
    assert f"from '{STRANGER}', which is not in TRUSTED_PROXIES: 10.0.0.0/8" in caplog.text


def test_behind_several_proxies_the_client_is_the_last_address_that_is_not_trusted():
    chain = f"1.2.3.4, {CLIENT}, {OUTER}"
    assert ask_proxied(x_forwarded_for=chain)["client"][0] == CLIENT
    # The outer proxy is not trusted, so it is the client for us.
    assert ask_proxied(trusted=(PROXY,), x_forwarded_for=chain)["client"][0] == OUTER


def test_of_several_hosts_the_one_that_our_own_proxy_added_counts():
    seen = ask_proxied(x_forwarded_host="evil.example, chat.example.org")
    assert seen["headers"]["host"] == "chat.example.org"


def test_an_ipv4_proxy_on_an_ipv6_socket_is_known():
    assert ask_proxied(f"::ffff:{PROXY}")["client"][0] == CLIENT


def test_an_unknown_scheme_changes_nothing():
    assert ask_proxied(x_forwarded_proto="gopher")["scheme"] == "http"


@pytest.mark.parametrize(
    ("origins", "host", "expected"),
    [
        (["https://chat.example.org:8443"], "chat.example.org", "chat.example.org:8443"),
        (["https://chat.example.org:8443"], "Chat.Example.org", "chat.example.org:8443"),
        (["https://chat.example.org:8443"], "other.example", "other.example"),
        (["https://chat.example.org:8443"], "chat.example.org:9", "chat.example.org:9"),
        (["https://a.example:1", "https://a.example"], "a.example", "a.example"),
        (["https://[::1]:8443"], "[::1]", "[::1]:8443"),
        (["https://[::1]"], "[::1]", "[::1]"),
        (["https://a.example:1", "https://a.example:2"], "a.example", "a.example:1"),
    ],
)
def test_a_host_without_a_port_gets_the_port_of_the_first_origin_with_its_name(origins, host, expected):
    assert ask(PortOfOrigin, origins, host=host)["headers"]["host"] == expected


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("/chat/memory/", "/chat/memory/"),
        ("/memory/", "/chat/memory/"),
        ("/chat", "/chat/"),
        ("/", "/chat/"),
        ("/chatter", "/chat/chatter"),
        ("/live", "/chat/live"),
    ],
)
def test_a_proxy_may_pass_on_the_path_in_front_or_leave_it_out(asked, path):
    seen = ask(BasePath, "/chat", path=asked)
    assert (seen["path"], seen["root_path"]) == (path, "/chat")


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (
            envorigins,
            "https://a.example:8443, http://b.example/",
            ["https://a.example:8443", "http://b.example"],
        ),
        (envorigins, "https://A.example:443", ["https://a.example"]),
        (envnetworks, "127.0.0.1,10.0.0.0/8,::1", ["127.0.0.1", "10.0.0.0/8", "::1"]),
        (envpath, "/chat/", "/chat"),
        (envpath, "/", ""),
    ],
)
def test_the_variables_are_read(monkeypatch, read, text, expected):
    monkeypatch.setenv("NAME", text)
    assert read("NAME") == expected


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (envorigins, "chat.example.org"),
        (envorigins, "https://*.example.org"),
        (envorigins, "https://a.example/path"),
        (envorigins, "https://a.example:port"),
        (envnetworks, "proxy"),
        (envnetworks, "10.0.0.1/8"),
        (envnetworks, "*"),
        (envpath, "chat"),
        (envpath, "/a//b"),
        (envpath, "/../x"),
        (envpath, "/memory"),
        (envpath, "/c/"),
        (envpath, "/static/chat"),
    ],
)
def test_a_value_that_cannot_be_read_is_refused_with_its_name(monkeypatch, read, text):
    monkeypatch.setenv("NAME", text)
    with pytest.raises(BadValue, match=r"^NAME must be"):
        read("NAME")


def test_a_base_path_cannot_begin_as_an_own_address_does():
    from memoryapp.asgi import sockets

    patterns = [*get_resolver().url_patterns, *sockets.routes]
    first = {str(one.pattern).split("/")[0] for one in patterns} | {settings.STATIC_URL.split("/")[1]}
    assert first - {""} == OWN_PLACES
