"""Browsers are redirected to pages: a login never leads to a form's target, and errors are pages."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.conftest import ORIGIN

pytestmark = pytest.mark.django_db


def login_redirect(answer) -> str:
    assert answer.status_code == 302
    return answer.url


@pytest.mark.parametrize(
    ("came_from", "page"),
    [
        (f"{ORIGIN}/settings/?saved=1", "/settings/"),
        (f"{ORIGIN}/memory/", "/memory/"),
        ("https://elsewhere.example/memory/", "/"),
        ("", "/"),
    ],
    ids=["settings", "memory", "another site", "unknown"],
)
def test_after_a_form_without_login_the_login_leads_back_to_the_page_of_the_form(
    server_mode, came_from, page
):
    stranger = Client(headers={"origin": ORIGIN, "referer": came_from})
    answer = stranger.post("/settings/export/", {"format": "json"})
    assert login_redirect(answer) == f"/login/?next={page.replace('/', '%2F')}"


def test_the_login_leads_to_the_requested_page(server_mode):
    stranger = Client(headers={"referer": f"{ORIGIN}/settings/"})
    assert login_redirect(stranger.get("/memory/?q=tea")) == "/login/?next=/memory/%3Fq%3Dtea"


def test_a_fragment_leads_to_the_page_that_requested_it(server_mode):
    stranger = Client(headers={"hx-request": "true", "hx-current-url": f"{ORIGIN}/statistics/"})
    assert stranger.get("/statistics/energy/")["HX-Redirect"] == "/login/?next=%2Fstatistics%2F"


def test_a_get_request_to_a_form_target_shows_an_error_page(ours):
    answer = ours.get("/settings/import/")
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert "This address only accepts form submissions." in answer.content.decode()
    assert 'href="/"' in answer.content.decode()


@pytest.mark.parametrize("address", ["/send/", "/memory/add/", "/logout/", "/settings/erase/"])
def test_every_form_target_shows_a_page(ours, address):
    answer = ours.get(address)
    assert answer.status_code in (200, 405)
    assert "<h1>" in answer.content.decode()


def test_htmx_and_programs_get_no_error_page(ours_htmx, ours):
    assert ours_htmx.get("/send/").content == b""
    assert ours.get("/v1/chat/completions")["Content-Type"] == "application/json"
