"""Who makes the requests of the table, and how they are sent."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from asgiref.sync import async_to_sync
from django.test import Client

from chat.actions.api_tokens import create_token
from tests.doors.owned_objects import ORIGIN

from .entries import Entry, For, fill


class Caller:
    """A browser or a program; it sends the requests of entries with the ids of an owner's objects."""

    def __init__(self, **headers: str) -> None:
        self.client = Client(enforce_csrf_checks=True)
        self.headers = headers

    @classmethod
    def by_login(cls, user: Any, origin: str = ORIGIN) -> Caller:
        """Return the browser of a user, on our own page or on one of another origin; of nobody for None."""
        caller = cls()
        if user is not None:
            caller.client.force_login(user)
        caller.client.get("/" if user is not None else "/login/")
        caller.headers = {"origin": origin, "x-csrftoken": caller.client.cookies["csrftoken"].value}
        return caller

    @classmethod
    def by_token(cls, secret: str) -> Caller:
        """Return a program with this token."""
        return cls(authorization=f"Bearer {secret}")

    @classmethod
    def with_scopes(cls, owner: Any, scopes: Collection[str]) -> Caller:
        """Return a program with a new token of these scopes."""
        name = f"with {'+'.join(sorted(scopes)) or 'no scope'}"
        return cls.by_token(create_token(owner, name, scopes))

    def ask(self, entry: Entry, ids: Mapping[str, str], *, htmx: bool = False) -> Any:
        """Send the request of an entry and return the response."""
        headers = {**self.headers, **fill(entry.headers, ids), **({"hx-request": "true"} if htmx else {})}
        sent, path = fill(entry.sent, ids), f"/{fill(entry.address, ids)}"
        if entry.whom is not For.PROGRAMS and entry.method == "POST":
            return self.client.post(path, sent, headers=headers)
        data = json.dumps(sent) if sent else b""
        return self.client.generic(entry.method, path, data, content_type="application/json", headers=headers)

    def ask_by(self, method: str, address: str) -> Any:
        """Send a request without a body to an address with ids."""
        return self.client.generic(method, f"/{address}", headers=self.headers)


def text_of(answer: Any) -> str:
    """Return the whole body of a response as text."""
    if getattr(answer, "is_async", False):
        content = b"".join(async_to_sync(_read_all)(answer))
    else:
        content = answer.getvalue()
    return str(content.decode())


async def _read_all(answer: Any) -> list[bytes]:
    return [part async for part in answer]


def leads_to_login(answer: Any, *, htmx: bool = False) -> bool:
    """Return whether a response leads to the login: by a redirect, for htmx by a header."""
    address = answer.headers.get("HX-Redirect" if htmx else "Location", "")
    return address.startswith("/login/?next=") and answer.status_code == (200 if htmx else 302)
