"""A browser is led to a page: after a login never to a form's target, and not to an error of its own."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.conftest import ORIGIN

pytestmark = pytest.mark.django_db


def to_login(answer) -> str:
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
def test_who_was_logged_out_meanwhile_gets_back_to_the_page_with_the_form(server_mode, came_from, page):
    stranger = Client(headers={"origin": ORIGIN, "referer": came_from})
    answer = stranger.post("/settings/export/", {"format": "json"})
    assert to_login(answer) == f"/login/?next={page.replace('/', '%2F')}"


def test_a_page_that_was_asked_for_is_where_the_login_leads(server_mode):
    stranger = Client(headers={"referer": f"{ORIGIN}/settings/"})
    assert to_login(stranger.get("/memory/?q=tea")) == "/login/?next=/memory/%3Fq%3Dtea"


def test_a_fragment_leads_to_the_page_that_asked_for_it(server_mode):
    stranger = Client(headers={"hx-request": "true", "hx-current-url": f"{ORIGIN}/statistics/"})
    assert stranger.get("/statistics/energy/")["HX-Redirect"] == "/login/?next=%2Fstatistics%2F"


def test_where_only_forms_go_a_browser_finds_a_page_that_says_so(ours):
    answer = ours.get("/settings/import/")
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert "This address only takes what a form sends." in answer.content.decode()
    assert 'href="/"' in answer.content.decode()


@pytest.mark.parametrize("address", ["/send/", "/memory/add/", "/logout/", "/settings/erase/"])
def test_that_holds_for_all_of_them(ours, address):
    answer = ours.get(address)
    assert answer.status_code in (200, 405)
    assert "<h1>" in answer.content.decode()


def test_htmx_and_programs_keep_the_answer_as_it_is(ours_htmx, ours):
    assert ours_htmx.get("/send/").content == b""
    assert ours.get("/v1/chat/completions")["Content-Type"] == "application/json"
