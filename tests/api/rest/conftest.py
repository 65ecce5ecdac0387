"""Clients of the REST API: of the owner, of another user, with a revoked token, and without a token."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from chat.actions.api_tokens import create_token, revoke_token
from chat.models import ApiToken


class Program:
    """A REST client; `headers` are sent with every request, with hyphens for underscores."""

    def __init__(self, **headers: str) -> None:
        self.client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request with a JSON body and return the response; `path` is relative to /api."""
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        data = b"" if body is None else json.dumps(body).encode()
        return self.client.generic(
            method,
            path if path.startswith("/") else f"/api/{path}",
            data,
            content_type=more.pop("content-type", "application/json"),
            headers={**self.headers, **more},
        )


def with_token(user: Any, name: str = "a program") -> Program:
    """Return a client with a new token of this user."""
    return Program(authorization=f"Bearer {create_token(user, name)}")


@pytest.fixture
def program(owner) -> Program:
    return with_token(owner)


@pytest.fixture
def theirs(other) -> Program:
    return with_token(other)


@pytest.fixture
def revoked(owner) -> Program:
    late = with_token(owner, "revoked")
    revoke_token(ApiToken.objects.get(name="revoked"))
    return late


@pytest.fixture
def stranger() -> Program:
    return Program()
