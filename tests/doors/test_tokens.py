"""Tokens for programs: made in the settings, shown once, kept as a hash, revoked for good."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from django.db import OperationalError
from django.test import Client

from chat.actions import tokens
from chat.actions.messages import Refused
from chat.actions.tokens import create_token, note_use
from chat.models import ApiToken

pytestmark = pytest.mark.django_db


def secret_in(page: str) -> str:
    found = re.findall(r"mem_[\w-]{43}", page)
    assert len(found) == 1
    return found[0]


def used() -> datetime:
    [when] = ApiToken.objects.values_list("last_used_at", flat=True)
    assert when is not None
    return when


def works(secret: str) -> bool:
    return Client().get("/api/facts", headers={"authorization": f"Bearer {secret}"}).status_code == 200


@pytest.mark.parametrize("client", ["ours", "ours_htmx"])
def test_a_token_is_made_and_shown_this_once(request, owner, client):
    page = request.getfixturevalue(client)
    answer = page.post("/settings/tokens/", {"name": " Terminal  "})
    assert answer.status_code == 200
    secret = secret_in(answer.content.decode())
    assert works(secret)
    again = page.get("/settings/").content.decode()
    assert "Terminal" in again
    assert "mem_" not in again


def test_only_its_hash_is_kept(ours, owner):
    secret = secret_in(ours.post("/settings/tokens/", {"name": "Terminal"}).content.decode())
    [row] = ApiToken.objects.values()
    assert row["digest"] == ApiToken.digest_of(secret)
    assert secret not in str(row)


def test_nobody_keeps_the_page_that_shows_it(ours, owner):
    assert ours.post("/settings/tokens/", {"name": "Terminal"}).headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("client", ["ours", "ours_htmx"])
def test_a_revoked_token_opens_nothing(request, owner, client):
    page = request.getfixturevalue(client)
    secret = secret_in(page.post("/settings/tokens/", {"name": "Terminal"}).content.decode())
    token = ApiToken.objects.get()
    answer = page.post(f"/settings/tokens/{token.pk}/revoke/")
    assert answer.status_code == (200 if client == "ours_htmx" else 302)
    assert not works(secret)
    assert "Terminal" not in page.get("/settings/").content.decode().replace("“Terminal” is revoked.", "")
    assert page.post(f"/settings/tokens/{token.pk}/revoke/").status_code == 404


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "Terminal"])
@pytest.mark.parametrize("client", ["ours", "ours_htmx"])
def test_a_name_that_is_none_or_taken_is_refused_and_stays_in_the_field(request, owner, client, name):
    create_token(owner, "Terminal")
    answer = request.getfixturevalue(client).post("/settings/tokens/", {"name": name})
    assert answer.status_code == 422
    assert 'id="token-error"' in answer.content.decode()
    assert f'value="{name}"' in answer.content.decode()
    assert ApiToken.objects.count() == 1


def test_there_are_at_most_twenty_and_a_revoked_one_makes_room(ours, owner):
    for number in range(tokens.MOST):
        create_token(owner, f"Program {number}")
    with pytest.raises(Refused):
        create_token(owner, "One more")
    assert "There are 20 tokens" in ours.get("/settings/").content.decode()
    tokens.revoke_token(ApiToken.objects.first())
    assert create_token(owner, "One more")


def test_a_name_is_free_again_once_its_token_is_revoked(owner):
    create_token(owner, "Terminal")
    tokens.revoke_token(ApiToken.objects.get())
    assert create_token(owner, "Terminal")


def test_when_it_was_used_is_noted_at_most_once_a_minute(owner, clock, django_assert_num_queries):
    secret = create_token(owner, "Terminal")
    works(secret)
    first = used()
    clock(59)
    works(secret)
    assert used() == first
    with django_assert_num_queries(0):
        note_use(ApiToken(last_used_at=first))
    clock(2)
    works(secret)
    assert (used() - first).total_seconds() == 61


def test_a_held_database_that_takes_no_note_of_a_use_shuts_no_door(owner, monkeypatch):
    def held(*args, **fields):
        raise OperationalError("database is locked")

    secret = create_token(owner, "a program")
    monkeypatch.setattr("django.db.models.query.QuerySet.update", held)
    answer = Client().get("/api/facts", headers={"authorization": f"Bearer {secret}"})
    assert (answer.status_code, ApiToken.objects.get().last_used_at) == (200, None)


def test_the_page_says_when_it_was_used(ours, owner):
    secret = create_token(owner, "Terminal")
    assert "not used yet" in ours.get("/settings/").content.decode()
    works(secret)
    assert "last used" in ours.get("/settings/").content.decode()


def test_a_name_is_shown_as_text(ours, owner):
    ours.post("/settings/tokens/", {"name": "<b>Terminal</b>"})
    assert "&lt;b&gt;Terminal&lt;/b&gt;" in ours.get("/settings/").content.decode()


def test_the_installations_own_token_is_the_same_each_time_and_opens_the_door(owner):
    secret = tokens.own_token(owner, "MCP")
    assert tokens.own_token(owner, "MCP") == secret
    assert works(secret)
    assert ApiToken.objects.get().name == "MCP"


def test_the_installations_own_token_depends_on_its_key_its_name_and_its_owner(owner, other, settings):
    made = {tokens.own_token(owner, "MCP"), tokens.own_token(owner, "Else"), tokens.own_token(other, "MCP")}
    ApiToken.objects.all().delete()
    settings.SECRET_KEY = "another installation's"
    made.add(tokens.own_token(owner, "MCP"))
    assert len(made) == 4


def test_the_installations_own_token_stays_revoked(owner):
    secret = tokens.own_token(owner, "MCP")
    tokens.revoke_token(ApiToken.objects.get())
    with pytest.raises(Refused, match="was revoked"):
        tokens.own_token(owner, "MCP")
    assert not works(secret)


def test_the_installations_own_token_takes_nobody_elses_name(owner):
    create_token(owner, "MCP")
    with pytest.raises(Refused, match="already"):
        tokens.own_token(owner, "MCP")


@pytest.mark.parametrize("path", ["/settings/tokens/", "/admin/", "/admin/chat/fact/"])
def test_a_token_makes_no_token_and_opens_no_admin_site(owner, path):
    secret = create_token(owner, "a program")
    client = Client(headers={"authorization": f"Bearer {secret}"})
    for answer in (client.get(path), client.post(path, {"name": "another"})):
        assert answer.status_code == 403
    assert ApiToken.objects.count() == 1
