"""How a request is refused whose token lacks a scope; who needs which is in `tests/doors/isolation`."""

from __future__ import annotations

import pytest
from django.test import Client

from chat.actions.api_tokens import create_token
from chat.models import Scope

from .conftest import Program


def with_scopes(user, *scopes: str) -> Program:
    return Program(authorization=f"Bearer {create_token(user, '+'.join(scopes), scopes)}")


@pytest.mark.django_db
def test_the_refusal_names_what_is_missing(owner):
    answer = with_scopes(owner, "chat")("GET", "export")
    assert answer.json()["detail"] == "This token does not allow that. It needs: chats:read and memory:read."


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/v1/models", "/v1/chat/completions", "/v1/nothing"])
def test_v1_needs_the_scope_chat_and_refuses_in_its_own_format(owner, path):
    answer = with_scopes(owner, *(s for s in Scope.values if s != "chat"))("GET", path)
    assert answer.status_code == 403
    assert "It needs: chat." in answer.json()["error"]["message"]
    assert with_scopes(owner, "chat")("GET", path).status_code != 403


@pytest.mark.django_db
def test_the_model_server_needs_the_scope_model(owner, monkeypatch):
    asked = []
    monkeypatch.setattr("chat.actions.provider.choose_server", lambda *a, **k: asked.append(k["url"]))
    wish = {"url": "http://127.0.0.1:9"}
    for scopes, expected in (({"chat", "memory:write"}, []), ({"model"}, ["http://127.0.0.1:9"])):
        client = Client(headers={"authorization": f"Bearer {create_token(owner, str(scopes), scopes)}"})
        client.post("/settings/provider/", wish)
        assert asked == expected
