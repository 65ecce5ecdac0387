"""Problem documents (RFC 9457): errors as programs read them, each with a sentence.

Also the responses where no view of `/api` or `/v1` handles the error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template import loader
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views import defaults
from pydantic import BaseModel, Field

from chat.disk_full import is_disk_full
from chat.errors import QuotaExceeded

MEDIA_TYPE = "application/problem+json"
# The beginning of a document's `type`: the section of the reference that explains the kind.
EXPLAINED = "/api/docs#problem-"

# By kind, the last part of `type`: status and title.
KINDS: dict[str, tuple[int, Any]] = {
    "malformed": (400, lazy("The request cannot be read")),
    "unauthorised": (401, lazy("A token is needed")),
    "forbidden": (403, lazy("Access denied")),
    "not-found": (404, lazy("Not found")),
    "method": (405, lazy("Method not allowed")),
    "conflict": (409, lazy("Not possible in the present state")),
    "gone": (410, lazy("Deleted since")),
    "changed": (412, lazy("Changed meanwhile")),
    "too-large": (413, lazy("The request is too large")),
    "not-json": (415, lazy("Send JSON")),
    "invalid": (422, lazy("Some values are invalid")),
    "key-reused": (422, lazy("The Idempotency-Key belongs to another request")),
    "if-match-required": (428, lazy("If-Match is missing")),
    "too-many": (429, lazy("Too many attempts")),
    "broken": (500, lazy("Internal error")),
    "disk-full": (507, lazy("The disk is full")),
    "no-model": (503, lazy("No model is ready")),
    "busy": (503, lazy("Try again in a moment")),
}
# For temporary problems, the seconds after which a client may try again.
RETRY_HEADERS = {"Retry-After": "5"}


def build_retry_headers(reason: QuotaExceeded) -> dict[str, str]:
    """Return the header that says when a person may take more."""
    return {"Retry-After": str(reason.after)}


_BY_STATUS = {status: name for name, (status, title) in reversed(KINDS.items())}


class FieldError(BaseModel):
    """An invalid value; `loc` is its path, which begins with "body", "query", "path" or "header"."""

    loc: list[str | int]
    detail: str


class ProblemDocument(BaseModel):
    """A problem document (RFC 9457); `detail` is a sentence for people."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError] | None = Field(default=None, description="Each invalid value.")
    undo: str | None = Field(default=None, description="Address of a POST that undoes the deletion.")
    conflicts_with: str | None = Field(default=None, description="The id of the conflicting object.")


class Problem(Exception):
    """Ends a request with a problem document; `more` are further members of the document."""

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
        """Return the response to send."""
        status, title = KINDS[self.kind]
        body: dict[str, Any] = {
            "type": settings.BASE_PATH + EXPLAINED + self.kind,
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
    """Return the kind of a status; "broken" for a status without one."""
    return _BY_STATUS.get(status, "broken")


def not_found() -> Problem:
    """Return the problem of a missing object or another user's: the two look alike."""
    return Problem("not-found", _("Nothing of yours was found at this address."))


def busy() -> Problem:
    """Return the problem of a database that stays locked by another process."""
    return Problem("busy", _("The database is busy. Try again in a moment."), headers=RETRY_HEADERS)


def method(*allowed: str) -> Problem:
    """Return the problem of an unsupported method; `allowed` are the supported ones."""
    headers = {"Allow": ", ".join(sorted(allowed))}
    return Problem("method", _("This address does not support this method."), headers=headers)


def invalid(detail: str, *loc: str | int) -> Problem:
    """Return the problem of one invalid field."""
    return Problem("invalid", detail, errors=[FieldError(loc=list(loc), detail=detail)])


_OPENAI, _REST = "/v1/", "/api/"
# These addresses below `/api/` are pages.
_PAGES = (_REST, f"{_REST}docs")


def is_for_programs(request: HttpRequest) -> bool:
    """Return whether clients of this address expect problem documents instead of pages."""
    return request.path_info.startswith((_OPENAI, _REST)) and request.path_info not in _PAGES


def build_response(request: HttpRequest, problem: Problem) -> HttpResponse:
    """Return a problem in the format of the requested interface."""
    if not request.path_info.startswith(_OPENAI):
        return problem.response()
    # Imported here: it imports models, which are not loaded yet when Django loads the middleware.
    from chat.api.openai.views import build_error_response

    return build_error_response(problem)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    """Django's handler of 400: requests that Django refuses before a view."""
    if not is_for_programs(request):
        return defaults.bad_request(request, exception)
    sentence = _("This request cannot be read, so nothing was changed.")
    if isinstance(exception, DisallowedHost):
        sentence = _("This host name is not one of memoryapp's own, so nothing was changed.")
    return build_response(request, Problem("malformed", sentence))


def server_error(request: HttpRequest) -> HttpResponseBase:
    """Django's handler of 500: exceptions outside of the API's own handlers; Django has logged them."""
    error = sys.exc_info()[1]
    if is_for_programs(request):
        return build_response(request, problem_of_error(error))
    if not is_disk_full(error):
        return defaults.server_error(request)
    if request.headers.get("HX-Request") == "true":
        return HttpResponse(describe_full_disk(), status=507, content_type="text/plain; charset=utf-8")
    return HttpResponse(
        loader.get_template("507.html").render({"sentence": describe_full_disk()}), status=507
    )


def describe_full_disk() -> str:
    """Return the sentence for a request that failed because there was no room."""
    return _("The disk is full, so this was not saved. Make room on it and try again.")


def problem_of_error(error: Any) -> Problem:
    """Return the problem of an unexpected exception: a locked database is temporary, a full disk is named."""
    if isinstance(error, OperationalError) and "locked" in str(error):
        return busy()
    if is_disk_full(error):
        return Problem("disk-full", describe_full_disk())
    return Problem("broken", _("Something went wrong. The log has the details."))
