"""API tokens: created on the settings page, shown once, stored as a hash, and revocable."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from django.db import OperationalError
from django.test import Client

from chat.actions import api_tokens
from chat.actions.api_tokens import create_token, record_use
from chat.errors import Refused
from chat.models import ApiToken, Scope

pytestmark = pytest.mark.django_db

READING = (Scope.READ_CHATS, Scope.READ_MEMORY)
# What the form of the page posts.
NEW = {"name": "Terminal", "scope": ["memory:read"], "end": "0"}


def extract_secret(page: str) -> str:
    found = re.findall(r"mem_[\w-]{43}", page)
    assert len(found) == 1
    return found[0]


def last_use() -> datetime:
    [when] = ApiToken.objects.values_list("last_used_at", flat=True)
    assert when is not None
    return when


def is_accepted(secret: str) -> bool:
    return Client().get("/api/facts", headers={"authorization": f"Bearer {secret}"}).status_code == 200


@pytest.mark.parametrize("client", ["ours", "ours_htmx"])
def test_a_token_is_created_and_shown_once(request, owner, client):
    page = request.getfixturevalue(client)
    answer = page.post("/settings/tokens/", NEW | {"name": " Terminal  "})
    assert answer.status_code == 200
    secret = extract_secret(answer.content.decode())
    assert is_accepted(secret)
    again = page.get("/settings/").content.decode()
    assert "Terminal" in again
    assert "mem_" not in again


def test_only_the_hash_of_a_token_is_stored(ours, owner):
    secret = extract_secret(ours.post("/settings/tokens/", NEW).content.decode())
    [row] = ApiToken.objects.values()
    assert row["digest"] == ApiToken.digest_of(secret)
    assert secret not in str(row)


def test_the_page_that_shows_a_token_is_not_cached(ours, owner):
    assert ours.post("/settings/tokens/", NEW).headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("client", ["ours", "ours_htmx"])
def test_a_revoked_token_is_refused(request, owner, client):
    page = request.getfixturevalue(client)
    secret = extract_secret(page.post("/settings/tokens/", NEW).content.decode())
    token = ApiToken.objects.get()
    answer = page.post(f"/settings/tokens/{token.pk}/revoke/")
    assert answer.status_code == (200 if client == "ours_htmx" else 302)
    assert not is_accepted(secret)
    assert "Terminal" not in page.get("/settings/").content.decode().replace("“Terminal” is revoked.", "")
    assert page.post(f"/settings/tokens/{token.pk}/revoke/").status_code == 404


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "Terminal"])
@pytest.mark.parametrize("client", ["ours", "ours_htmx"])
def test_an_empty_or_used_name_is_refused_and_stays_in_the_field(request, owner, client, name):
    create_token(owner, "Terminal")
    answer = request.getfixturevalue(client).post("/settings/tokens/", NEW | {"name": name})
    assert answer.status_code == 422
    assert 'id="token-error"' in answer.content.decode()
    assert f'value="{name}"' in answer.content.decode()
    assert ApiToken.objects.count() == 1


def test_at_most_twenty_tokens_are_active(ours, owner):
    for number in range(api_tokens.MAX_TOKENS):
        create_token(owner, f"Program {number}")
    with pytest.raises(Refused):
        create_token(owner, "One more")
    assert "There are 20 tokens" in ours.get("/settings/").content.decode()
    api_tokens.revoke_token(ApiToken.objects.first())
    assert create_token(owner, "One more")


def test_the_name_of_a_revoked_token_can_be_used_again(owner):
    create_token(owner, "Terminal")
    api_tokens.revoke_token(ApiToken.objects.get())
    assert create_token(owner, "Terminal")


def test_the_last_use_is_recorded_at_most_once_a_minute(owner, clock, django_assert_num_queries):
    secret = create_token(owner, "Terminal")
    is_accepted(secret)
    first = last_use()
    clock(59)
    is_accepted(secret)
    assert last_use() == first
    with django_assert_num_queries(0):
        record_use(ApiToken(last_used_at=first))
    clock(2)
    is_accepted(secret)
    assert (last_use() - first).total_seconds() == 61


def test_a_locked_database_does_not_keep_a_token_from_working(owner, monkeypatch):
    def raise_locked(*args, **fields):
        raise OperationalError("database is locked")

    secret = create_token(owner, "a program")
    monkeypatch.setattr("django.db.models.query.QuerySet.update", raise_locked)
    answer = Client().get("/api/facts", headers={"authorization": f"Bearer {secret}"})
    assert (answer.status_code, ApiToken.objects.get().last_used_at) == (200, None)


def test_the_page_shows_the_last_use(ours, owner):
    secret = create_token(owner, "Terminal")
    assert "not used yet" in ours.get("/settings/").content.decode()
    is_accepted(secret)
    assert "last used" in ours.get("/settings/").content.decode()


def test_names_are_escaped(ours, owner):
    ours.post("/settings/tokens/", NEW | {"name": "<b>Terminal</b>"})
    assert "&lt;b&gt;Terminal&lt;/b&gt;" in ours.get("/settings/").content.decode()


def test_the_shared_token_is_the_same_each_time_and_is_accepted(owner):
    secret = api_tokens.ensure_shared_token(owner, "MCP", READING)
    assert api_tokens.ensure_shared_token(owner, "MCP", READING) == secret
    assert is_accepted(secret)
    assert ApiToken.objects.get().name == "MCP"


def test_the_shared_token_depends_on_the_secret_key_and_the_name_and_the_owner(owner, other, settings):
    made = {
        api_tokens.ensure_shared_token(owner, "MCP", READING),
        api_tokens.ensure_shared_token(owner, "Else", READING),
        api_tokens.ensure_shared_token(other, "MCP", READING),
    }
    ApiToken.objects.all().delete()
    settings.SECRET_KEY = "another installation's"
    made.add(api_tokens.ensure_shared_token(owner, "MCP", READING))
    assert len(made) == 4


def test_the_shared_token_stays_revoked(owner):
    secret = api_tokens.ensure_shared_token(owner, "MCP", READING)
    api_tokens.revoke_token(ApiToken.objects.get())
    with pytest.raises(Refused, match="was revoked"):
        api_tokens.ensure_shared_token(owner, "MCP", READING)
    assert not is_accepted(secret)


def test_the_shared_token_does_not_take_the_name_of_another_token(owner):
    create_token(owner, "MCP")
    with pytest.raises(Refused, match="already"):
        api_tokens.ensure_shared_token(owner, "MCP", READING)
