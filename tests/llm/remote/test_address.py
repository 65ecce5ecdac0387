"""Which addresses of a model's server are accepted."""

from __future__ import annotations

import pytest

from chat.llm.remote.address import BadAddress, parse


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
        ("HTTPS://Example.COM:8443", "https://example.com:8443/v1", "example.com:8443"),
    ],
)
def test_an_address_is_understood_with_and_without_its_version(typed, api, host):
    found = parse(typed)
    assert (found.api, found.host) == (api, host)
    assert found.root + "/v1" == found.api


@pytest.mark.parametrize("typed", ["http://api.example.com", "http://8.8.8.8/v1", "http://user.github.io"])
def test_the_open_network_is_reached_encrypted_only(typed):
    with pytest.raises(BadAddress, match="https"):
        parse(typed)


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "begins with https"),
        ("api.example.com", "begins with https"),
        ("ftp://example.com", "begins with https"),
        ("file:///etc/passwd", "begins with https"),
        ("https://user:secret@example.com", "key"),
        ("https://example.com/v1?x=1", "ends before"),
        ("https://example.com/#top", "ends before"),
        ("http://169.254.169.254/", "No model"),
        ("http://0.0.0.0:80", "No model"),
        ("http://[fe80::1]/", "No model"),
        ("https://exa mple.com", "no address"),
        ("http://[::1", "no address"),
        ("http://localhost:99999", "no address"),
        ("https://-bad-/", "no address"),
    ],
)
def test_what_is_no_address_is_refused_with_a_sentence(typed, why):
    with pytest.raises(BadAddress, match=why):
        parse(typed)


def test_a_private_server_is_known_as_such():
    assert parse("https://10.0.0.7").private
    assert parse("http://localhost:1234").private
    assert not parse("https://example.com").private
