"""What a new token allows and when it ends is chosen on the settings page, and can be narrowed later."""

from __future__ import annotations

import pytest
from django.test import Client

from chat.actions import api_tokens
from chat.errors import Refused
from chat.models import ApiToken
from tests.full_token import create_full_token

pytestmark = pytest.mark.django_db

NEW = {"name": "Terminal", "scope": ["memory:read", "chat"], "end": "30"}


def status_of(secret: str, path: str) -> int:
    return Client().get(path, headers={"authorization": f"Bearer {secret}"}).status_code


@pytest.mark.parametrize("client", ["ours", "ours_htmx"])
def test_a_new_token_has_the_chosen_scopes_and_end(request, owner, client):
    page = request.getfixturevalue(client)
    assert page.post("/settings/tokens/", NEW).status_code == 200
    token = ApiToken.objects.get()
    assert token.scopes == ["chat", "memory:read"]
    assert token.expires_at is not None
    assert (token.expires_at - token.created_at).days in (29, 30)
    text = page.get("/settings/").content.decode()
    assert "Send messages, and change and delete chats; Read memories" in text
    assert "ends on" in text


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"scope": []}, "Choose at least one thing"),
        ({"scope": ["full"]}, "A token cannot allow that"),
        ({"scope": ["chat", "root"]}, "A token cannot allow that"),
        ({"end": "31"}, "Choose when the token ends"),
        ({"end": ""}, "Choose when the token ends"),
    ],
)
def test_unknown_scopes_and_ends_are_refused_and_the_input_stays(ours, owner, wrong, sentence):
    answer = ours.post("/settings/tokens/", NEW | wrong)
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert 'value="Terminal"' in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_an_ended_token_is_refused_and_the_page_says_so(ours, owner, clock):
    ours.post("/settings/tokens/", NEW)
    secret = api_tokens.create_token(owner, "a program", ["memory:read"])
    ApiToken.objects.filter(name="a program").update(expires_at=ApiToken.objects.first().expires_at)
    assert status_of(secret, "/api/facts") == 200
    clock(31 * 24 * 3600)
    assert status_of(secret, "/api/facts") == 401
    assert "ended on" in ours.get("/settings/").content.decode()


def test_a_full_token_is_marked_and_can_be_narrowed(ours, owner):
    secret = create_full_token(owner, "Old program")
    assert "it allows everything" in ours.get("/settings/").content.decode()
    assert status_of(secret, "/settings/") == 200
    token = ApiToken.objects.get()
    assert ours.post(f"/settings/tokens/{token.pk}/narrow/", {"scope": ["memory:read"]}).status_code == 302
    token.refresh_from_db()
    assert token.scopes == ["memory:read"]
    assert status_of(secret, "/api/facts") == 200
    assert status_of(secret, "/api/conversations") == 403
    assert status_of(secret, "/settings/") == 403


def test_narrowing_never_adds_a_scope(owner):
    api_tokens.create_token(owner, "a program", ["chat", "memory:read"])
    token = ApiToken.objects.get()
    assert api_tokens.narrow_token(token, ["memory:read", "memory:write", "model"]) == ["memory:read"]
    with pytest.raises(Refused):
        api_tokens.narrow_token(token, ["chat"])
    token.refresh_from_db()
    assert token.scopes == ["memory:read"]


def test_narrowing_to_nothing_is_refused_with_a_sentence(ours_htmx, owner):
    create_full_token(owner, "Old program")
    token = ApiToken.objects.get()
    answer = ours_htmx.post(f"/settings/tokens/{token.pk}/narrow/", {})
    assert answer.status_code == 422
    assert "Choose at least one thing" in answer.content.decode()
    token.refresh_from_db()
    assert token.is_full


def test_a_token_of_another_user_cannot_be_narrowed(ours, other):
    create_full_token(other, "theirs")
    token = ApiToken.objects.get()
    assert ours.post(f"/settings/tokens/{token.pk}/narrow/", {"scope": ["chat"]}).status_code == 404
    token.refresh_from_db()
    assert token.is_full
