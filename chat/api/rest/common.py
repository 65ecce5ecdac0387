"""What the routers share: types of what comes in, pages of a list, ETags, and creating once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.http import parse_etags
from django.utils.translation import gettext as _
from ninja import Header, Query, Schema
from pydantic import ConfigDict, Field

from chat.actions.idempotency import Made, once
from chat.actions.messages import Refused
from chat.api.problems import Problem
from chat.models import App, Deletion, DeletionState
from chat.views.scope import HtmxHttpRequest, own_app, uuid_or_404

T = TypeVar("T")
MOST = 100  # of a page
# Below every kind of integer that a database knows.
_FURTHEST = 1_000_000
# What `next` says of a page's place; `of` is how many rows there were then.
_PLACE = ("limit", "offset", "of")

Limit = Annotated[int, Query(ge=1, le=MOST, description="How many at most.")]
Offset = Annotated[int, Query(ge=0, le=_FURTHEST, description="How many to pass over.")]
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


# A body's numbers and switches are what JSON calls so: no 0 for false, no "7" for 7.
Flag = Annotated[bool, Field(strict=True)]
Whole = Annotated[int, Field(strict=True)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]


class Request(HtmxHttpRequest):
    """A request that `OwnerAuth` let in: `auth` is whose memory this is."""

    auth: Any


class Body(Schema):
    """What comes in: a member that is not known is refused, for it may be a slip of the pen."""

    model_config = ConfigDict(extra="forbid")


class Page(Schema, Generic[T]):
    """A part of a list: `total` is how many there are in all, `next` where the rest begins.

    Follow `next` as it is: then nothing is passed over where rows go meanwhile.
    """

    items: list[T]
    total: int
    next: str | None = None


def page(
    request: Request, rows: QuerySet[Any] | Sequence[Any], told: Callable[[Any], T], limit: int, offset: int
) -> Page[T]:
    """Return the asked part of rows in a fixed order; two queries of a query set."""
    total = rows.count() if isinstance(rows, QuerySet) else len(rows)
    offset = begins_at(request, offset, total)
    rest = rest_of(request, list(request.GET.items()), limit, offset, total)
    return Page[T](items=[told(row) for row in rows[offset : offset + limit]], total=total, next=rest)


def begins_at(request: Request, offset: int, total: int) -> int:
    """Return where a page begins that `next` led to.

    As much earlier as rows have gone since: whoever deletes what a page tells and goes on is told all there
    is. Where others went, some come again rather than none.
    """
    before = request.GET.get("of", "")
    if not (before.isascii() and before.isdigit() and len(before) <= len(str(_FURTHEST))):
        return offset
    return max(0, offset - max(0, int(before) - total))


def rest_of(
    request: Request, asked: Sequence[tuple[str, Any]], limit: int, offset: int, total: int
) -> str | None:
    """Return where the rest of a list begins, None where nothing is left; `asked` is what narrows it."""
    end = offset + limit
    if end >= total:
        return None
    narrowed = [(name, value) for name, value in asked if name not in _PLACE]
    return f"{request.path}?{urlencode([*narrowed, *zip(_PLACE, (limit, end, total), strict=True)])}"


class DeletionOut(Schema):
    """Something on its way out: out of sight, gone at `expires_at`; until then a POST to `undo` helps."""

    id: UUID
    state: str = Field(description="pending, undone or done")
    pressed_at: datetime
    expires_at: datetime
    undo: str


def deletion_out(deletion: Deletion) -> DeletionOut:
    """Tell of a deletion."""
    return DeletionOut(
        id=deletion.pk,
        state=deletion.state,
        pressed_at=deletion.pressed_at,
        expires_at=deletion.expires_at,
        undo=undo_of(deletion.pk),
    )


def on_its_way(press: Callable[[], Deletion], earlier: Callable[[], Deletion | None]) -> Deletion:
    """Return the deletion that a press made, or the earlier one with which it is on its way already.

    A program that asks again gets the same undo. Raises Refused, or answers 404, where neither is so.
    """
    try:
        return press()
    except (Refused, Http404):
        before = earlier()
        if before is None or before.state != DeletionState.PENDING:
            raise
        return before


def pending(request: Request, **of: Any) -> Deletion | None:
    """Return the last of the owner's deletions of this kind that can still be undone."""
    return Deletion.objects.for_owner(request.auth).pending().filter(**of).last()


def undo_of(deletion: Any) -> str:
    """Return where a deletion is undone."""
    return reverse("rest:undo", args=[deletion])


def seen(if_match: str | None, *, needed: bool = False) -> list[str]:
    """Return the marks that a request would accept, none for any; raises Problem where it must say one."""
    if if_match is None:
        if needed:
            raise Problem(
                "if-match-required",
                _("Memory changes this by itself too. Send the etag that you read, as “If-Match”."),
            )
        return []
    if if_match.isalnum():
        # As it stands in the object, without a header's quotes.
        return [if_match]
    given = parse_etags(if_match)
    # A weak or unreadable one never matches.
    return [] if given == ["*"] else [etag[1:-1] for etag in given if etag.startswith('"')] or [""]


def tagged(response: HttpResponse, mark: str) -> None:
    """Send an object's mark as its ETag."""
    response.headers["ETag"] = f'"{mark}"'


def located(response: HttpResponse, name: str, *keys: Any) -> None:
    """Say where what was made, or is being made, can be read: the name is the reading operation's."""
    response.headers["Location"] = reverse(f"rest:{name}", args=keys)


def create(request: Request, response: HttpResponse, key: str | None, make: Callable[[], Made]) -> Made:
    """Make something once for each Idempotency-Key; the answer's header says where it was made before.

    How long a program waits for the answer makes nothing, so it tells no requests apart.
    """
    asked = f"{request.method} {request.path}\n".encode() + request.body
    made = once(request.auth, key or "", asked, make)
    if made.again:
        response.headers["Idempotency-Replayed"] = "true"
    return made


def app_or_404(request: Request, given: str) -> App:
    """Return the owner's app by its slug, the seed's `app_id`, or by its id; answers 404."""
    if "\x00" in given:
        raise Http404  # PostgreSQL would not even look for it.
    found = App.objects.for_owner(request.auth).select_related("owner").filter(slug=given).first()
    return found or own_app(request, uuid_or_404(given))


def still_there(rows: Iterable[T]) -> T:
    """Return the one row that an earlier request made; raises Problem where it has been deleted since."""
    row = next(iter(rows), None)
    if row is None:
        raise Problem("gone", _("What this request made has been deleted since."))
    return row


def responses(*statuses: int) -> dict[str, Any]:
    """Return the part of an operation's documentation that says by which problems else it may end."""
    return {"responses": {status: {} for status in statuses}}
