"""`manage.py doctor` in server mode asks the server through its public address, as browsers do."""

from __future__ import annotations

import pytest

from chat.management.health import server
from tests.llm.remote.fake_server import run_fake_server

pytestmark = pytest.mark.django_db


def check(settings, url: str) -> dict[str, tuple[str, str]]:
    settings.ALLOWED_ORIGINS = [url]
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    return {found.topic: (found.state.value, found.text) for found in server.check_public_address()}


def test_all_is_well_where_pages_forms_and_sockets_pass(address, server_mode):
    found = check(server_mode, address)
    assert found == {
        "address": ("ok", address),
        "origin": ("ok", f"forms from {address} are accepted"),
        "websocket": ("ok", "passes"),
        "streaming": ("ok", "the lines of a streamed reply arrive one by one"),
    }


def test_another_origin_is_told(address, server_mode, monkeypatch):
    # The doctor asks with an origin that the server does not know.
    monkeypatch.setattr(server, "Origin", lambda _: "http://elsewhere.example")
    state, text = check(server_mode, address)["websocket"]
    assert state == "broken"
    assert "sockets from http://elsewhere.example are refused" in text
    assert "ALLOWED_ORIGINS" in text


def test_a_proxy_without_sockets_is_told(server_mode):
    page = (200, b"login", {"set-cookie": "csrftoken=x"})
    with run_fake_server(login__=page) as proxy:
        state, text = check(server_mode, proxy.url.removesuffix("/v1"))["websocket"]
    assert state == "broken"
    assert "passes no WebSocket" in text


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (400, "ALLOWED_HOSTS"),
        (502, "does not reach this server"),
        (200, "not with the login of memoryapp"),
        (404, "not with the login of memoryapp"),
    ],
)
def test_what_the_proxy_answers_is_explained(server_mode, status, told):
    with run_fake_server(login__=(status, b"")) as proxy:
        found = check(server_mode, proxy.url.removesuffix("/v1"))
    assert found["address"][0] == "broken"
    assert told in found["address"][1]
    assert "websocket" not in found


def test_an_address_that_leads_to_itself_names_the_header_that_does_not_count(server_mode):
    with run_fake_server() as proxy:
        url = proxy.url.removesuffix("/v1")
        proxy.paths["/login/"] = (301, b"", {"location": f"{url}/login/"})
        state, text = check(server_mode, url)["address"]
    assert state == "broken"
    assert "TRUSTED_PROXIES" in text


def test_without_a_public_address_nothing_is_asked(server_mode):
    server_mode.ALLOWED_ORIGINS, server_mode.ALLOWED_HOSTS = [], ["*"]
    found = {one.topic: one.text for one in server.check_public_address()}
    assert "ALLOWED_ORIGINS" in found["address"]
    assert "TRUSTED_PROXIES" in found["proxy"]


@pytest.mark.parametrize(("ahead", "state"), [(0.4, "ok"), (-12.0, "note"), (300.0, "broken")])
def test_clocks_that_differ_are_told(ahead, state):
    assert server.judge_clock(ahead).state.value == state


def test_missing_static_files_are_told(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    assert "collectstatic" in server.check_static_files().text
