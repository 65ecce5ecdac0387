"""Which addresses of model servers are accepted."""

from __future__ import annotations

import asyncio

import pytest

from chat.errors import BadAddress
from chat.llm.remote.address import parse_address, require_own_network


@pytest.mark.parametrize(
    ("typed", "api", "host"),
    [
        ("https://api.example.com/v1", "https://api.example.com/v1", "api.example.com"),
        ("https://api.example.com/", "https://api.example.com/v1", "api.example.com"),
        (" http://127.0.0.1:8080 ", "http://127.0.0.1:8080/v1", "127.0.0.1:8080"),
        ("http://[::1]:8080/v1/", "http://[::1]:8080/v1", "[::1]:8080"),
        ("http://192.168.1.20:11434", "http://192.168.1.20:11434/v1", "192.168.1.20:11434"),
        ("http://desk.local/llm/v1", "http://desk.local/llm/v1", "desk.local"),
        ("http://ollama:11434", "http://ollama:11434/v1", "ollama:11434"),
        ("http://[::ffff:10.0.0.7]:80/", "http://[::ffff:10.0.0.7]:80/v1", "[::ffff:10.0.0.7]:80"),
        ("https://api.example.com/v1/chat/completions", "https://api.example.com/v1", "api.example.com"),
        ("https://api.example.com/api/paas/v4/", "https://api.example.com/api/paas/v4", "api.example.com"),
        ("https://example.com/v1beta/openai", "https://example.com/v1beta/openai", "example.com"),
        ("HTTPS://Example.COM:8443", "https://example.com:8443/v1", "example.com:8443"),
    ],
)
def test_an_address_is_parsed_with_and_without_its_version_path(typed, api, host):
    found = parse_address(typed)
    assert (found.api, found.host) == (api, host)
    assert found.api.startswith(found.root)
    assert parse_address(found.api) == found


@pytest.mark.parametrize(
    "typed",
    ["http://api.example.com", "http://8.8.8.8/v1", "http://user.github.io", "http://[::ffff:8.8.8.8]/"],
)
def test_public_addresses_need_https(typed):
    with pytest.raises(BadAddress, match="https"):
        parse_address(typed)


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "begins with https"),
        ("api.example.com", "begins with https"),
        ("ftp://example.com", "begins with https"),
        ("file:///etc/passwd", "begins with https"),
        ("https://user:secret@example.com", "key"),
        ("https://example.com/v1?x=1", "must not contain"),
        ("https://example.com/#top", "must not contain"),
        ("http://169.254.169.254/", "No model"),
        ("http://0.0.0.0:80", "No model"),
        ("http://[fe80::1]/", "No model"),
        ("https://exa mple.com", "not the address"),
        ("http://[::1", "not the address"),
        ("http://localhost:99999", "not the address"),
        ("https://-bad-/", "not the address"),
        ("http://134744072/", "not the address"),
        ("http://0x08080808/", "not the address"),
        ("http://8.8.2056/", "not the address"),
    ],
)
def test_an_invalid_address_is_refused_with_the_reason(typed, why):
    with pytest.raises(BadAddress, match=why):
        parse_address(typed)


def test_a_private_address_is_recognised():
    assert parse_address("https://10.0.0.7").private
    assert parse_address("http://localhost:1234").private
    assert not parse_address("https://example.com").private


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("typed", "found", "left"),
    [
        ("http://ollama:11434", ["93.184.216.34"], True),
        ("http://desk.lan", ["2606:2800:220:1::1", "93.184.216.34"], True),
        ("http://ollama:11434", ["2606:2800:220:1::1", "192.168.1.20"], False),
        ("http://desk.local", ["fe80::1"], False),
        ("https://ollama", ["93.184.216.34"], False),
    ],
    ids=range(5),
)
async def test_plain_http_is_refused_when_a_name_resolves_to_a_public_address(
    monkeypatch, typed, found, left
):
    async def getaddrinfo(host, port, **_how):
        return [(0, 0, 0, "", (address, 0)) for address in found]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    if not left:
        await require_own_network(parse_address(typed))
        return
    with pytest.raises(BadAddress, match="https"):
        await require_own_network(parse_address(typed))


@pytest.mark.asyncio
async def test_an_unresolvable_name_is_accepted():
    await require_own_network(parse_address("http://a-name-that-is-not-there.internal"))
