"""One entry of the table: a request with who may make it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.urls import resolve

UNKNOWN = "00000000-0000-0000-0000-000000000000"
# Objects whose id is a number.
_NUMBERED = ("waiting", "member")
_NAME = re.compile(r"{(\w+)}")


class For(StrEnum):
    """Whom an address is for."""

    EVERYBODY = "everybody, also without login"
    VISITORS = "everybody in their browser, also without login"
    PEOPLE = "people in their browser, and tokens from before tokens had scopes"
    BROWSER = "people in their browser only"
    ADMINS = "admins of a server in their browser; for members there is no such page"
    PROGRAMS = "programs with a token, and our own page"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One request: who may make it, and what the owner sends.

    `{conversation}` and the like stand for the id of an object of the owner.
    """

    method: str
    address: str
    whom: For
    # The scopes that a token needs; None where no scope is enough. With `either`, one of them is enough.
    scopes: Collection[str] | None = None
    either: bool = False
    sent: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    # Its response shows no text of the owner.
    bare: bool = False
    # The id of another user's object is like none: the page is shown without it, and there is no 404.
    lenient: bool = False
    # Its form lacks something, so that its owner is told what: 422 or 409.
    incomplete: bool = False
    # It answers a visitor without login with status 410, because its link does not work any more.
    over: bool = False
    # It starts the thread of a reply, which sees only committed rows.
    replies: bool = False

    def __str__(self) -> str:
        more = [str(dict(one)) for one in (self.sent, self.headers) if one]
        return " ".join((self.method, f"/{self.address}", *more))

    @property
    def names(self) -> list[str]:
        """The names of the objects that the request takes."""
        return sorted(set(_NAME.findall(str(self))))

    @property
    def is_public(self) -> bool:
        """Whether the request needs no login."""
        return self.whom in (For.EVERYBODY, For.VISITORS)

    @property
    def route(self) -> str:
        """The route of the URL table that answers the request."""
        path = _NAME.sub(lambda found: "0" if found[1] in _NUMBERED else UNKNOWN, self.address.split("?")[0])
        found = resolve(f"/{path}")
        return name_route(found.route, found.url_name)

    @property
    def refuses_tokens(self) -> bool:
        """Whether no token opens it, also none from before tokens had scopes."""
        return self.whom in (For.BROWSER, For.ADMINS, For.VISITORS)

    def allows(self, scopes: Collection[str]) -> bool:
        """Return whether a token with these scopes may make the request."""
        if self.scopes is None:
            return False
        needed = set(self.scopes)
        return bool(needed.intersection(scopes)) if self.either else needed.issubset(scopes)


def name_route(route: str, name: str | None) -> str:
    """Return the route as the table names it; the patterns for unknown addresses have an empty one."""
    return f"{route}*" if name == "nowhere" else route


def fill(value: Any, ids: Mapping[str, str]) -> Any:
    """Return a value of an entry with the ids of objects for their names."""
    if isinstance(value, str):
        return _NAME.sub(lambda found: ids[found[1]], value)
    if isinstance(value, Mapping):
        return {name: fill(one, ids) for name, one in value.items()}
    return [fill(one, ids) for one in value] if isinstance(value, list) else value


def page(line: str, whom: For = For.PEOPLE, **more: Any) -> Entry:
    """Return the entry of a page from its method and address; what is no field of Entry is in its form."""
    return _entry(line, more, whom=whom)


def rest(scopes: Collection[str] | None, line: str, **more: Any) -> Entry:
    """Return the entry of an operation below `/api/`; what is no field of Entry is in its body."""
    method, _, address = line.partition(" ")
    headers = {"if-match": "*"} if method == "PATCH" else {}
    return _entry(f"{method} api/{address}", more, whom=For.PROGRAMS, scopes=scopes, headers=headers)


def openai(line: str, **more: Any) -> Entry:
    """Return the entry of an address below `/v1/`."""
    method, _, address = line.partition(" ")
    return _entry(f"{method} v1/{address}", more, whom=For.PROGRAMS, scopes={"chat"})


def _entry(line: str, more: dict[str, Any], **fields: Any) -> Entry:
    method, _, address = line.partition(" ")
    known = {name: more.pop(name) for name in Entry.__dataclass_fields__ if name in more}
    return Entry(**{"method": method, "address": address, "sent": more, **fields, **known})
