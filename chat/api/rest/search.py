"""Search: what the owner's words stand in, in titles, in what was said and in what is known."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from ninja import Query, Router, Schema
from pydantic import Field

from chat.search.finding import LONGEST, Hit, Kind, find

from .common import Limit, Offset, Page, Request, begins_at, rest_of

router = Router(tags=["search"])


class PieceOut(Schema):
    """A stretch of a snippet, as plain text; `marked` where it is what was looked for."""

    text: str
    marked: bool


class HitOut(Schema):
    """One thing that was found; `id` is a conversation's, a fact's or a message's, by `kind`."""

    kind: Kind
    id: UUID
    snippet: list[PieceOut]
    score: float = Field(gt=0, le=1, description="For comparing hits of one search with each other.")
    when: datetime = Field(description="When it was said, last mentioned or last written in.")
    conversation: UUID | None
    title: str | None = Field(description="The conversation's title.")


def _hit_out(hit: Hit) -> HitOut:
    chat = hit.conversation
    return HitOut(
        kind=hit.kind,
        id=hit.id,
        snippet=[PieceOut(text=piece.text, marked=piece.marked) for piece in hit.pieces],
        score=hit.score,
        when=hit.when,
        conversation=chat.pk if chat else None,
        title=str(chat) if chat else None,
    )


@router.get("", response=Page[HitOut])
def search(
    request: Request,
    q: Annotated[str, Query(min_length=1, max_length=LONGEST, description="Words, and “phrases” in quotes.")],
    kind: Annotated[list[Kind], Query(description="What to look for; everything without it.")] = [],  # noqa: B006
    limit: Limit = 20,
    offset: Offset = 0,
) -> Page[HitOut]:
    """Find what holds all these words, in any order, the best first: the last may be the beginning of one.

    Facts are also found by what they mean. Of very common words only the newest messages are looked through.
    """
    found = find(request.auth, q, kinds=kind or tuple(Kind), limit=limit, offset=offset)
    if (begins := begins_at(request, offset, found.total)) != offset:
        offset = begins
        found = find(request.auth, q, kinds=kind or tuple(Kind), limit=limit, offset=offset)
    asked = [("q", q), *(("kind", one.value) for one in kind)]
    rest = rest_of(request, asked, limit, offset, found.total)
    return Page[HitOut](items=[_hit_out(hit) for hit in found.hits], total=found.total, next=rest)
