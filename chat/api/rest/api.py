"""The NinjaAPI at `/api/`: its routers, its parser of bodies, and the mapping of exceptions to problems."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache, wraps
from itertools import chain
from math import isfinite
from typing import Any

from django.conf import settings as product
from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.http.multipartparser import MultiPartParserError
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser
from pydantic_core import from_json

from chat.api.auth import OwnerAuth, is_json
from chat.api.problems import (
    RETRY_HEADERS,
    FieldError,
    Problem,
    build_retry_headers,
    kind_of,
    method,
    not_found,
    problem_of_error,
)
from chat.error_messages import describe
from chat.errors import (
    Busy,
    ConnectionLost,
    IdempotencyKeyReused,
    ModelNotReady,
    ModelTooSlow,
    Overloaded,
    PendingDeletion,
    ProviderError,
    QuotaExceeded,
    Refused,
    Unfinished,
    VersionConflict,
)

from . import (
    app_memories,
    apps,
    conversations,
    deletions,
    extractions,
    facts,
    graph,
    metrics,
    porting,
    recall,
    replies,
    search,
    settings,
    topics,
)
from .reference import build_document

logger = logging.getLogger(__name__)

VERSION = "1.0.0"
_DESCRIPTION = """Everything that the pages can do, for programs of your own.

Send a token that you made in the settings: `Authorization: Bearer mem_…`. Lists come in pages: follow `next`.
Creating takes an `Idempotency-Key`, changing an `If-Match`. Errors are problem documents (RFC 9457)."""


class JsonOnly(Parser):
    """Accepts bodies of a JSON content type only; refuses values that no database can store."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the parsed body; raises Problem."""
        if not is_json(request):
            raise Problem("not-json", _("The body has to be JSON, with “Content-Type: application/json”."))
        try:
            found = from_json(request.body, allow_inf_nan=False)
        except ValueError as error:
            raise Problem("malformed", _("The body cannot be read as JSON: %s.") % error) from error
        if fault := _find_fault(found):
            raise Problem("malformed", fault)
        return found

    def parse_querydict(self, data: Any, list_fields: list[str], request: HttpRequest) -> Any:
        """Parse query parameters and form fields; NUL is removed, as it is from all stored texts."""
        clean = MultiValueDict({key: [_without_nul(v) for v in given] for key, given in data.lists()})
        return super().parse_querydict(clean, list_fields, request)


def _without_nul(value: Any) -> Any:
    return value.replace("\x00", "") if isinstance(value, str) else value


def _find_fault(value: Any) -> str:
    """Return a sentence about a value that no database can store; "" where there is none."""
    if isinstance(value, str):
        return _("The body contains the character NUL, which cannot be stored.") if "\x00" in value else ""
    if isinstance(value, float):
        # 1e999 is valid JSON and is parsed as infinity.
        return "" if isfinite(value) else _("The body contains a number that is too large.")
    parts = chain(value, value.values()) if isinstance(value, dict) else value
    return next(filter(None, map(_find_fault, parts)), "") if isinstance(value, dict | list) else ""


class Api(NinjaAPI):
    """NinjaAPI with problem documents in its OpenAPI schema."""

    def get_openapi_operation_id(self, operation: Any) -> str:
        """Return the id of an operation: the name of its function."""
        return str(operation.view_func.__name__)

    @cache  # noqa: B019 - there is one, and its routers never change
    def openapi_document(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        return build_document(super().get_openapi_schema(path_prefix=f"{product.BASE_PATH}/api/"))


api = Api(
    title="memoryapp",
    version=VERSION,
    description=_DESCRIPTION,
    urls_namespace="rest",
    # Served by views of our own: ninja's page needs inline scripts, which the CSP forbids.
    openapi_url=None,
    docs_url=None,
    auth=OwnerAuth(),
    parser=JsonOnly(),
)
# One router a noun. Routers are added here and nowhere else.
api.add_router("/conversations", conversations.router)
# `replies` adds its operations to the routers of `messages`, whose paths they share.
api.add_router("/conversations", replies.of_conversation)
api.add_router("/conversations", topics.of_conversation)
api.add_router("/conversations", extractions.of_conversation)
api.add_router("/conversations", extractions.requests_of_conversation)
api.add_router("/messages", replies.router)
api.add_router("/facts", facts.router)
api.add_router("/topics", topics.router)
api.add_router("/entities", graph.router)
api.add_router("/graph", graph.questions)
api.add_router("/apps", apps.router)
api.add_router("/apps", app_memories.router)
api.add_router("/metrics", metrics.router)
api.add_router("/settings", settings.router)
api.add_router("/deletions", deletions.router)
api.add_router("/search", search.router)
api.add_router("/recall", recall.router)
api.add_router("", porting.router)
api.add_router("", extractions.router)


@api.exception_handler(Problem)
def _handle_problem(request: HttpRequest, problem: Problem) -> HttpResponse:
    return problem.response()


@api.exception_handler(Http404)
def _handle_404(request: HttpRequest, error: Http404) -> HttpResponse:
    return not_found().response()


@api.exception_handler(ObjectDoesNotExist)
def _handle_missing_row(request: HttpRequest, error: ObjectDoesNotExist) -> HttpResponse:
    # Another request deleted the row after it was selected.
    return not_found().response()


@api.exception_handler(HttpError)
def _handle_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    # Ninja wraps what the parser raised.
    if isinstance(error.__cause__, Problem):
        return error.__cause__.response()
    return Problem(kind_of(error.status_code), str(error)).response()


@api.exception_handler(RequestDataTooBig)
def _handle_too_large(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
    return Problem("too-large", _("The body is too large. Send less at once.")).response()


@api.exception_handler(SuspiciousOperation)
@api.exception_handler(MultiPartParserError)
def _handle_unreadable(request: HttpRequest, error: Exception) -> HttpResponse:
    # A malformed form, or one with too many parts.
    return Problem("malformed", _("This request cannot be read, so nothing was changed.")).response()


@api.exception_handler(ValidationError)
def _handle_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    if all(wrong["loc"][0] == "path" for wrong in error.errors):
        return not_found().response()
    errors = [
        FieldError(loc=_field_path(wrong["loc"]), detail=wrong["msg"].removeprefix("Value error, "))
        for wrong in error.errors
    ]
    return Problem("invalid", _("Some values are invalid: see “errors”."), errors=errors).response()


def _field_path(loc: tuple[str | int, ...]) -> list[str | int]:
    """Return the place of a value as the client knows it: without ninja's name of the body parameter."""
    return ["body", *loc[2:]] if loc[0] == "body" else list(loc)


@api.exception_handler(Refused)
def _handle_refused(request: HttpRequest, reason: Refused) -> HttpResponse:
    kind, headers = "invalid", RETRY_HEADERS if isinstance(reason, Busy | Overloaded) else {}
    if isinstance(reason, QuotaExceeded):
        kind, headers = "too-many", build_retry_headers(reason)
    elif isinstance(reason, Overloaded):
        kind = "busy"
    elif isinstance(reason, VersionConflict):
        kind = "changed"
    elif isinstance(reason, IdempotencyKeyReused):
        kind = "key-reused"
    elif isinstance(reason, PendingDeletion | Busy) or request.method == "DELETE" or _has_empty_body(request):
        # The body is empty, so the state is at fault: 409, not 422.
        kind = "conflict"
    return Problem(kind, describe(reason), headers=headers).response()


def _has_empty_body(request: HttpRequest) -> bool:
    return request.body.strip() in (b"", b"{}", b"null")


@api.exception_handler(ModelNotReady)
def _handle_no_model(request: HttpRequest, reason: ModelNotReady) -> HttpResponse:
    return Problem("no-model", describe(reason)).response()


@api.exception_handler(ProviderError)
def _handle_provider_error(request: HttpRequest, reason: ProviderError) -> HttpResponse:
    # `ModelNotReady` has a handler of its own.
    if isinstance(reason, ModelTooSlow | Unfinished | ConnectionLost):
        return Problem("busy", describe(reason), headers=RETRY_HEADERS).response()
    return Problem("no-model", describe(reason)).response()


@api.exception_handler(Exception)
def _handle_error(request: HttpRequest, error: Exception) -> HttpResponse:
    logger.exception("a request to the API failed", extra={"path": request.path})
    return problem_of_error(error).response()


def prepare_view(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Return a view without login redirect and CSRF check; unknown methods get a problem document."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        asked = request.method
        if asked == "HEAD":
            # Ninja has no HEAD operations. The server omits the body.
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
