"""What the routers share: types of input, pages of a list, ETags, and creating once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import urlencode

from asgiref.sync import sync_to_async
from django.db.models import QuerySet
from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import parse_etags
from django.utils.translation import gettext as _
from ninja import Header, Query, Schema
from ninja.responses import Response
from pydantic import ConfigDict, Field

from chat.access import HtmxHttpRequest, find_app_by_slug, own_app, uuid_or_404
from chat.actions.idempotency import CreatedObjects, run_once
from chat.api.problems import Problem
from chat.generation.exchange import RequestKey
from chat.later_response import respond_from_slow_thread, respond_later
from chat.models import App
from chat.models.connections import close_unusable_connection

T = TypeVar("T")
MAX_PAGE_SIZE = 100
# Within the range of every integer type of a database.
_MAX_OFFSET = 1_000_000
# Query parameters of `next`; `of` is the number of rows when the link was made.
_PAGE_PARAMETERS = ("limit", "offset", "of")

Limit = Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE, description="How many at most.")]
Offset = Annotated[int, Query(ge=0, le=_MAX_OFFSET, description="How many to pass over.")]
IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", max_length=1000, description="The `etag` that was read; `*` for any."),
]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="Any text of your own. The same request with the same key creates once, for a day.",
    ),
]


# Strict types: a body may not send 0 for false or "7" for 7.
Flag = Annotated[bool, Field(strict=True)]
Whole = Annotated[int, Field(strict=True)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]


class ApiRequest(HtmxHttpRequest):
    """A request that `OwnerAuth` has authenticated; `auth` is the owner."""

    auth: Any


class Body(Schema):
    """The base of request bodies; an unknown member is refused, since it may be a typing error."""

    model_config = ConfigDict(extra="forbid")


class Page(Schema, Generic[T]):
    """One page of a list: `total` is the number of all items, `next` the address of the next page.

    Use `next` unchanged: then no item is skipped when others are deleted meanwhile.
    """

    items: list[T]
    total: int
    next: str | None = None


def paginate(
    request: ApiRequest,
    rows: QuerySet[Any] | Sequence[Any],
    build: Callable[[Any], T],
    limit: int,
    offset: int,
) -> Page[T]:
    """Return one page of rows, which must be in a fixed order; two queries for a query set."""
    total = rows.count() if isinstance(rows, QuerySet) else len(rows)
    offset = compute_page_start(request, offset, total)
    following = build_next_url(request, list(request.GET.items()), limit, offset, total)
    return Page[T](items=[build(row) for row in rows[offset : offset + limit]], total=total, next=following)


def compute_page_start(request: ApiRequest, offset: int, total: int) -> int:
    """Return the offset of a page, moved back by the number of rows deleted since `next` was made.

    A client that deletes the items of each page therefore still gets all of them. Where other rows were
    deleted, some items come twice, but none is skipped.
    """
    before = request.GET.get("of", "")
    if not (before.isascii() and before.isdigit() and len(before) <= len(str(_MAX_OFFSET))):
        return offset
    return max(0, offset - max(0, int(before) - total))


def build_next_url(
    request: ApiRequest, asked: Sequence[tuple[str, Any]], limit: int, offset: int, total: int
) -> str | None:
    """Return the address of the next page, None after the last; `asked` are the query parameters to keep."""
    end = offset + limit
    if end >= total:
        return None
    kept = [(name, value) for name, value in asked if name not in _PAGE_PARAMETERS]
    kept += zip(_PAGE_PARAMETERS, (limit, end, total), strict=True)
    return f"{request.path}?{urlencode(kept)}"


def parse_if_match(if_match: str | None, *, needed: bool = False) -> list[str]:
    """Return the etags that a request accepts, an empty list for any; raises Problem where one is needed."""
    if if_match is None:
        if needed:
            raise Problem(
                "if-match-required",
                _("This may have changed meanwhile. Send the etag that you read as “If-Match”."),
            )
        return []
    if if_match.isalnum():
        # The value of the object's `etag` member, without the quotes of the header's syntax.
        return [if_match]
    given = parse_etags(if_match)
    # A weak or malformed etag never matches.
    return [] if given == ["*"] else [etag[1:-1] for etag in given if etag.startswith('"')] or [""]


def set_etag(response: HttpResponse, etag: str) -> None:
    """Set the ETag header."""
    response.headers["ETag"] = f'"{etag}"'


def set_location(response: HttpResponse, name: str, *keys: Any) -> None:
    """Set the Location header to the address of the operation `name`."""
    response.headers["Location"] = reverse(f"rest:{name}", args=keys)


def render(found: Schema, status: int = 200) -> HttpResponse:
    """Return the JSON of an object, as an operation does that returns the object."""
    return Response(found.model_dump(), status=status, content_type="application/json; charset=utf-8")


def render_later(
    request: ApiRequest, wait: Callable[[], Awaitable[object]], build: Callable[[], HttpResponse]
) -> Any:
    """Return a response that awaits `wait` in the event loop, without a thread, and then calls `build`."""

    async def respond() -> HttpResponse:
        await wait()
        return await sync_to_async(_answering_errors(request, build))()

    return respond_later(request, respond)


def render_slowly(request: ApiRequest, build: Callable[[], HttpResponse]) -> Any:
    """Return a response that a thread for slow requests builds. Raises Overloaded."""
    return respond_from_slow_thread(request, _answering_errors(request, build))


def _answering_errors(request: ApiRequest, build: Callable[[], HttpResponse]) -> Callable[[], HttpResponse]:
    from .api import api

    def answer() -> HttpResponse:
        close_unusable_connection()
        try:
            return build()
        except Exception as error:
            return api.on_exception(request, error)

    return answer


def create_once(
    request: ApiRequest, response: HttpResponse, key: str | None, make: Callable[[], CreatedObjects]
) -> CreatedObjects:
    """Call `make` once for each Idempotency-Key; a header marks a repeated response.

    Query parameters such as `wait` are not part of the key.
    """
    known = request_key(request, key)
    made = run_once(request.auth, known.key, known.request, make)
    mark_replayed(response, made.again)
    return made


def request_key(request: ApiRequest, key: str | None) -> RequestKey:
    """Return what identifies a request: its Idempotency-Key, with its method, path and body."""
    return RequestKey(key or "", f"{request.method} {request.path}\n".encode() + request.body)


def mark_replayed(response: HttpResponse, repeated: bool) -> None:
    """Say in a header that the response repeats what an earlier request with the same key made."""
    if repeated:
        response.headers["Idempotency-Replayed"] = "true"


def find_app(request: ApiRequest, given: str) -> App:
    """Return the owner's app by its slug (`app_id`) or by its id; raises Http404."""
    return find_app_by_slug(request.auth, given) or own_app(request, uuid_or_404(given))


def require_row(rows: Iterable[T]) -> T:
    """Return the row that this or an earlier request created; raises Problem 410 where it is deleted."""
    row = next(iter(rows), None)
    if row is None:
        raise Problem("gone", _("What this request created has been deleted since."))
    return row


def problem_responses(*statuses: int) -> dict[str, Any]:
    """Return the OpenAPI part that documents further problems of an operation."""
    return {"responses": {status: {} for status in statuses}}
