"""What went wrong, as programs read it: problem documents of RFC 9457, each with a plain sentence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from pydantic import BaseModel, Field

MEDIA_TYPE = "application/problem+json"
# Where the kinds are explained; the last part of a document's `type`.
EXPLAINED = "/api/docs#problem-"

# By the name that stands in `type`: the status that it comes with, and its title.
KINDS: dict[str, tuple[int, Any]] = {
    "malformed": (400, lazy("This cannot be read")),
    "unauthorised": (401, lazy("A token is needed")),
    "forbidden": (403, lazy("Not from here")),
    "not-found": (404, lazy("There is no such thing")),
    "method": (405, lazy("This address does not do that")),
    "conflict": (409, lazy("This cannot be done now")),
    "gone": (410, lazy("It has been deleted since")),
    "changed": (412, lazy("It has changed meanwhile")),
    "too-large": (413, lazy("This is too large")),
    "not-json": (415, lazy("Send JSON")),
    "invalid": (422, lazy("Something in this is not right")),
    "key-reused": (422, lazy("This key belongs to another request")),
    "if-match-required": (428, lazy("Say which version you mean")),
    "broken": (500, lazy("Something went wrong here")),
    "no-model": (503, lazy("No model is ready")),
    "busy": (503, lazy("Come again in a moment")),
}
# For what passes by itself: seconds after which it is worth while to ask again.
COME_AGAIN = {"Retry-After": "5"}
_BY_STATUS = {status: name for name, (status, title) in reversed(KINDS.items())}


class FieldError(BaseModel):
    """One thing that is not right, and where: `loc` leads to it from "body", "query", "path" or "header"."""

    loc: list[str | int]
    detail: str


class ProblemDocument(BaseModel):
    """A problem document (RFC 9457); `detail` is a sentence for people."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError] | None = Field(default=None, description="Each thing that is not right.")
    undo: str | None = Field(default=None, description="Where a POST takes back what stands in the way.")
    conflicts_with: str | None = Field(default=None, description="The id of what stands in the way.")


class Problem(Exception):
    """Ends a request with a problem document; `more` are further members of it, `headers` of the answer."""

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        errors: Sequence[FieldError] | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.kind, self.detail, self.errors, self.headers, self.more = kind, detail, errors, headers, more
        self.status = KINDS[kind][0]

    def response(self) -> HttpResponse:
        """Return the answer to send."""
        status, title = KINDS[self.kind]
        body: dict[str, Any] = {
            "type": EXPLAINED + self.kind,
            "title": str(title),
            "status": status,
            "detail": self.detail,
            **self.more,
        }
        if self.errors is not None:
            body["errors"] = [error.model_dump() for error in self.errors]
        answer = HttpResponse(json.dumps(body, ensure_ascii=False), status=status, content_type=MEDIA_TYPE)
        for name, value in {**_expected(status), **(self.headers or {})}.items():
            answer.headers[name] = value
        return answer


def _expected(status: int) -> dict[str, str]:
    return {"WWW-Authenticate": 'Bearer realm="memoryapp"'} if status == 401 else {}


def kind_of(status: int) -> str:
    """Return the kind that a bare status stands for; a status without one is "broken"."""
    return _BY_STATUS.get(status, "broken")


def not_found() -> Problem:
    """Return the problem for what is not there, or somebody else's: the two look alike."""
    return Problem("not-found", _("There is nothing at this address that is yours."))


def busy() -> Problem:
    """Return the problem for a database that another program has held for longer than we wait for it."""
    return Problem("busy", _("The database is busy. Try again in a moment."), headers=COME_AGAIN)


def method(*allowed: str) -> Problem:
    """Return the problem for a method that an address has not; `allowed` are those that it has."""
    headers = {"Allow": ", ".join(sorted(allowed))}
    return Problem("method", _("This address does not do that."), headers=headers)


def invalid(detail: str, *loc: str | int) -> Problem:
    """Return the problem for one field that is not right."""
    return Problem("invalid", detail, errors=[FieldError(loc=list(loc), detail=detail)])
