"""The NinjaAPI at `/api/`: its routers, how it reads bodies, and how it says that something went wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, wraps
from itertools import chain
from math import isfinite
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.http.multipartparser import MultiPartParserError
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser
from pydantic_core import from_json

from chat.actions.facts import OnItsWayOut
from chat.actions.guard import ChangedMeanwhile
from chat.actions.idempotency import KeyReused
from chat.actions.messages import Busy, Refused
from chat.api.auth import OwnerAuth, is_json
from chat.api.outside import of_error
from chat.api.problems import COME_AGAIN, FieldError, Problem, kind_of, method, not_found
from chat.llm.types import ModelNotReady

from . import (
    app_memories,
    apps,
    conversations,
    deletions,
    facts,
    figures,
    graph,
    porting,
    replies,
    search,
    settings,
    topics,
)
from .document import document

logger = logging.getLogger(__name__)

VERSION = "1.0.0"
_DESCRIPTION = """Everything that the pages can do, for programs of your own.

Send a token that you made in the settings: `Authorization: Bearer mem_…`. Lists come in pages: follow `next`.
Creating takes an `Idempotency-Key`, changing an `If-Match`. Errors are problem documents (RFC 9457)."""


class JsonOnly(Parser):
    """Reads JSON that says it is JSON, without what no database can hold."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return what the body holds; raises Problem."""
        if not is_json(request):
            raise Problem("not-json", _("The body has to be JSON, with “Content-Type: application/json”."))
        try:
            found = from_json(request.body, allow_inf_nan=False)
        except ValueError as error:
            raise Problem("malformed", _("The body cannot be read as JSON: %s.") % error) from error
        if fault := _fault(found):
            raise Problem("malformed", fault)
        return found

    def parse_querydict(self, data: Any, list_fields: list[str], request: HttpRequest) -> Any:
        """Return what an address asks for, NUL left out as verbs leave it out of texts; and files."""
        clean = MultiValueDict({key: [_without_nul(v) for v in given] for key, given in data.lists()})
        return super().parse_querydict(clean, list_fields, request)


def _without_nul(value: Any) -> Any:
    return value.replace("\x00", "") if isinstance(value, str) else value


def _fault(value: Any) -> str:
    """Return what is in a body that no database can hold, "" for nothing."""
    if isinstance(value, str):
        return _("The body holds the character NUL, which no text has.") if "\x00" in value else ""
    if isinstance(value, float):
        # 1e999 is JSON, and what is read of it is not.
        return "" if isfinite(value) else _("The body holds a number that is too large.")
    parts = chain(value, value.values()) if isinstance(value, dict) else value
    return next(filter(None, map(_fault, parts)), "") if isinstance(value, dict | list) else ""


class Api(NinjaAPI):
    """Ninja's API with our problem documents in its schema."""

    def get_openapi_operation_id(self, operation: Any) -> str:
        """Return the name by which clients know an operation: its function's."""
        return str(operation.view_func.__name__)

    @cache  # noqa: B019 - there is one, and its routers never change
    def described(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        return document(super().get_openapi_schema(path_prefix="/api/"))


api = Api(
    title="memoryapp",
    version=VERSION,
    description=_DESCRIPTION,
    urls_namespace="rest",
    # Served by views of our own: ninja's page needs scripts that our policy forbids.
    openapi_url=None,
    docs_url=None,
    auth=OwnerAuth(),
    parser=JsonOnly(),
)
# One router a noun. Another package's router is added here, and nowhere else.
api.add_router("/conversations", conversations.router)
# What sends has the addresses of what reads, so it fills the same routers.
api.add_router("/conversations", replies.of_conversation)
api.add_router("/conversations", topics.of_conversation)
api.add_router("/messages", replies.router)
api.add_router("/facts", facts.router)
api.add_router("/topics", topics.router)
api.add_router("/entities", graph.router)
api.add_router("/graph", graph.questions)
api.add_router("/apps", apps.router)
api.add_router("/apps", app_memories.router)
api.add_router("/metrics", figures.router)
api.add_router("/settings", settings.router)
api.add_router("/deletions", deletions.router)
api.add_router("/search", search.router)
api.add_router("", porting.router)


@api.exception_handler(Problem)
def _problem(request: HttpRequest, problem: Problem) -> HttpResponse:
    return problem.response()


@api.exception_handler(Http404)
def _missing(request: HttpRequest, error: Http404) -> HttpResponse:
    return not_found().response()


@api.exception_handler(ObjectDoesNotExist)
def _gone(request: HttpRequest, error: ObjectDoesNotExist) -> HttpResponse:
    # Deleted by somebody else between the getter and the verb.
    return not_found().response()


@api.exception_handler(HttpError)
def _http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    # What reading the body raised comes wrapped.
    if isinstance(error.__cause__, Problem):
        return error.__cause__.response()
    return Problem(kind_of(error.status_code), str(error)).response()


@api.exception_handler(RequestDataTooBig)
def _too_large(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return Problem("too-large", _("The body is too large. Send less at once.")).response()


@api.exception_handler(SuspiciousOperation)
@api.exception_handler(MultiPartParserError)
def _unreadable(request: HttpRequest, error: Exception) -> HttpResponse:
    # A form that is none, or one of too many parts.
    return Problem("malformed", _("This request cannot be read, so nothing was changed.")).response()


@api.exception_handler(ValidationError)
def _invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    if all(wrong["loc"][0] == "path" for wrong in error.errors):
        return not_found().response()
    errors = [
        FieldError(loc=_place(wrong["loc"]), detail=wrong["msg"].removeprefix("Value error, "))
        for wrong in error.errors
    ]
    return Problem(
        "invalid", _("Some of what was sent is not right: see “errors”."), errors=errors
    ).response()


def _place(loc: tuple[str | int, ...]) -> list[str | int]:
    """Return where a value stands as its sender knows it: a body has no name."""
    return ["body", *loc[2:]] if loc[0] == "body" else list(loc)


@api.exception_handler(Refused)
def _refused(request: HttpRequest, reason: Refused) -> HttpResponse:
    kind, headers = "invalid", COME_AGAIN if isinstance(reason, Busy) else {}
    if isinstance(reason, ChangedMeanwhile):
        kind = "changed"
    elif isinstance(reason, KeyReused):
        kind = "key-reused"
    elif isinstance(reason, OnItsWayOut | Busy) or request.method == "DELETE" or _says_nothing(request):
        # Nothing was said that could be wrong, so it is how things stand.
        kind = "conflict"
    return Problem(kind, str(reason), headers=headers).response()


def _says_nothing(request: HttpRequest) -> bool:
    return request.body.strip() in (b"", b"{}", b"null")


@api.exception_handler(ModelNotReady)
def _no_model(request: HttpRequest, reason: ModelNotReady) -> HttpResponse:
    return Problem("no-model", str(reason)).response()


@api.exception_handler(Exception)
def _broken(request: HttpRequest, error: Exception) -> HttpResponse:
    logger.exception("a request to the API failed", extra={"path": request.path})
    return of_error(error).response()


def opened(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Return a view of the API as it is mounted: no login page, and a problem for methods that it lacks."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        asked = request.method
        if asked == "HEAD":
            # The server leaves the body away; ninja knows only what is written down.
            request.method = "GET"
        found = view(request, *args, **kwargs)
        request.method = asked
        if found.status_code == 405:
            there = found["Allow"].split(", ")
            return method(*there, *(["HEAD"] if "GET" in there else [])).response()
        return found

    answer.login_required = False  # type: ignore[attr-defined]
    answer.csrf_exempt = True  # type: ignore[attr-defined]
    return answer
