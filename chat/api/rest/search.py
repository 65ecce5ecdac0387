"""Search in titles, messages and facts."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from ninja import Query, Router, Schema
from pydantic import Field

from chat.search.search import LONGEST, Hit, HitKind, find

from .common import ApiRequest, Limit, Offset, Page, build_next_url, compute_page_start

router = Router(tags=["search"])


class PieceOut(Schema):
    """A piece of a snippet, as plain text; `marked` where it matches the query."""

    text: str
    marked: bool


class HitOut(Schema):
    """One result; `id` is that of a conversation, a fact or a message, according to `kind`."""

    kind: HitKind
    id: UUID
    snippet: list[PieceOut]
    score: float = Field(gt=0, le=1, description="Comparable within one search only.")
    when: datetime = Field(
        description="Time of the message, last mention of the fact, or last change of the conversation."
    )
    conversation: UUID | None
    title: str | None = Field(description="The conversation's title.")


def _build_hit(hit: Hit) -> HitOut:
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
    request: ApiRequest,
    q: Annotated[str, Query(min_length=1, max_length=LONGEST, description="Words, and “phrases” in quotes.")],
    kind: Annotated[list[HitKind], Query(description="Kinds of results; all without it.")] = [],  # noqa: B006
    limit: Limit = 20,
    offset: Offset = 0,
) -> Page[HitOut]:
    """Search for all words in any order, best results first; the last word may be a prefix.

    Facts are also found by meaning. For very common words only the newest messages are searched.
    """
    found = find(request.auth, q, kinds=kind or tuple(HitKind), limit=limit, offset=offset)
    if (begins := compute_page_start(request, offset, found.total)) != offset:
        offset = begins
        found = find(request.auth, q, kinds=kind or tuple(HitKind), limit=limit, offset=offset)
    asked = [("q", q), *(("kind", one.value) for one in kind)]
    following = build_next_url(request, asked, limit, offset, found.total)
    return Page[HitOut](items=[_build_hit(hit) for hit in found.hits], total=found.total, next=following)
