"""Facts: listed and found, added, edited and pinned, forgotten and brought back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import Http404, HttpResponse
from ninja import Query, Router
from ninja.responses import Status

from chat.actions import archive, deletions, facts, guard, pins, revisions
from chat.actions.idempotency import Made
from chat.actions.messages import Refused
from chat.api.problems import Problem
from chat.memory.similar import normalise
from chat.models import Category, Deletion, Fact, Origin
from chat.models.fact import FactQuerySet
from chat.search import meant as finding
from chat.views.scope import own_event, own_fact

from .common import (
    DeletionOut,
    IdempotencyKey,
    IfMatch,
    Limit,
    Offset,
    Page,
    Request,
    create,
    deletion_out,
    located,
    on_its_way,
    page,
    pending,
    responses,
    seen,
    still_there,
    tagged,
    undo_of,
)
from .fact_shapes import EventOut, FactIn, FactOut, FactPatch, RestoreIn, fact_mark, fact_out

router = Router(tags=["facts"])


@router.get("", response=Page[FactOut])
def list_facts(
    request: Request,
    q: Annotated[str, Query(max_length=200, description="Words that the text holds.")] = "",
    meant: Annotated[
        str, Query(max_length=2000, description="Words that say it otherwise: the one live fact they mean.")
    ] = "",
    category: Category | None = None,
    pinned: bool | None = None,
    state: Literal["live", "archived"] = "live",
    limit: Limit = 20,
    offset: Offset = 0,
) -> Page[FactOut]:
    """List what is known: by category, pinned ones first, the last mentioned first."""
    mine = Fact.objects.for_owner(request.auth)
    if meant:
        one = finding.meant(request.auth, meant)
        mine = mine.filter(pk=one.pk) if one else mine.none()
    rows = mine.archived() if state == "archived" else mine.live().grouped()
    if category is not None:
        rows = rows.filter(category=category)
    if pinned is not None:
        rows = rows.filter(pinned=pinned)
    # At most 150 are live, and the database does not know the two cases of every letter.
    wanted = normalise(q)
    found = [f for f in rows.select_related("source_conversation") if wanted in normalise(f.text)]
    return page(request, found, fact_out, limit, offset)


@router.post("", response={200: FactOut, 201: FactOut}, openapi_extra=responses(410))
def add_fact(
    request: Request, response: HttpResponse, body: FactIn, idempotency_key: IdempotencyKey = None
) -> Status[FactOut]:
    """Remember something: 201, or 200 with the fact that says it already, now mentioned once more."""

    def make() -> Made:
        fact = facts.add_fact(request.auth, body.text, Origin(body.origin))
        return Made([str(fact.pk)], 201 if fact.mention_count == 1 else 200)

    made = create(request, response, idempotency_key, make)
    fact = still_there(_told(request).filter(pk__in=made.ids, deletion=None))
    located(response, "get_fact", fact.pk)
    tagged(response, fact_mark(fact))
    return Status(made.status, fact_out(fact))


@router.post("/clear", response=DeletionOut, openapi_extra=responses(409))
def clear_facts(request: Request) -> DeletionOut:
    """Forget all facts: gone at once, for good after eight seconds.

    Where they are on their way already the same deletion is told.
    """
    press = lambda: deletions.clear_all(request.auth)  # noqa: E731
    return deletion_out(on_its_way(press, lambda: pending(request, everything=True)))


@router.get("/{fact_id}", response=FactOut)
def get_fact(request: Request, response: HttpResponse, fact_id: UUID) -> FactOut:
    """Tell one fact, live, superseded or in the archive."""
    fact = _visible(request, fact_id)
    tagged(response, fact_mark(fact))
    return fact_out(fact)


@router.patch("/{fact_id}", response=FactOut, openapi_extra=responses(409, 412, 428))
def edit_fact(
    request: Request, response: HttpResponse, fact_id: UUID, body: FactPatch, if_match: IfMatch = None
) -> FactOut:
    """Change a live fact's words, category or pin; answers with the fact that says it now.

    That is another one where those words are known already. Needs `If-Match`.
    """
    wanted = seen(if_match, needed=True)
    with _in_the_way(request, fact_id):
        read = lambda: own_fact(request, fact_id)  # noqa: E731
        with guard.unchanged(request.auth, read, fact_mark, wanted) as fact:
            if body.text is not None or body.category is not None:
                fact = facts.edit_fact(fact, body.text or fact.text, body.category or "")
            if body.pinned is not None:
                fact = _pinned(fact, body.pinned)
    fact = _visible(request, fact.pk)
    tagged(response, fact_mark(fact))
    return fact_out(fact)


@router.delete("/{fact_id}", response=DeletionOut, openapi_extra=responses(409, 412))
def forget_fact(request: Request, fact_id: UUID, if_match: IfMatch = None) -> DeletionOut:
    """Forget a fact: gone at once, for good after four seconds. What it had replaced goes with it.

    Of one that is on its way already the same deletion is told.
    """

    def read() -> Fact:
        return own_fact(request, fact_id)

    def press() -> Deletion:
        with guard.unchanged(request.auth, read, fact_mark, seen(if_match)) as fact:
            return deletions.forget(request.auth, [fact.pk])

    return deletion_out(on_its_way(press, lambda: read().deletion))


@router.get("/{fact_id}/history", response=list[EventOut])
def fact_history(request: Request, fact_id: UUID) -> list[EventOut]:
    """Tell what happened to a fact and to all that it replaced, the oldest first."""
    return [
        EventOut(
            id=event.pk,
            fact=event.fact_id,
            kind=event.kind,
            text=event.after.get("text"),
            category=event.after.get("category"),
            actor=event.actor,
            reason=event.reason,
            message=event.source_message_id,
            created_at=event.created_at,
        )
        for event in revisions.history(_visible(request, fact_id))
    ]


@router.post("/{fact_id}/restore", response=FactOut, openapi_extra=responses(409))
def restore_fact(request: Request, response: HttpResponse, fact_id: UUID, body: RestoreIn) -> FactOut:
    """Give a fact the words that it had after an event of its history; answers with the restored fact."""
    with _in_the_way(request, fact_id):
        restored = revisions.restore_to(own_fact(request, fact_id), own_event(request, body.event))
    fact = _visible(request, restored.pk)
    tagged(response, fact_mark(fact))
    return fact_out(fact)


@router.post("/{fact_id}/bring-back", response=FactOut, openapi_extra=responses(409))
def bring_back_fact(request: Request, response: HttpResponse, fact_id: UUID) -> FactOut:
    """Take a fact out of the archive, where what faded or made room lies for thirty days."""
    with _in_the_way(request, fact_id):
        fact = _visible(request, archive.bring_back(own_fact(request, fact_id)).pk)
    tagged(response, fact_mark(fact))
    return fact_out(fact)


def _pinned(fact: Fact, pinned: bool) -> Fact:
    try:
        return facts.pin_fact(fact, pinned)
    except facts.OnItsWayOut:
        raise
    except Refused as reason:
        oldest = pins.oldest_if_full(fact)
        more: dict[str, Any] = {"conflicts_with": str(oldest.pk)} if oldest else {}
        raise Problem("conflict", str(reason), **more) from reason


def _told(request: Request) -> FactQuerySet:
    return Fact.objects.for_owner(request.auth).select_related("source_conversation")


def _visible(request: Request, fact_id: UUID) -> Fact:
    fact = own_fact(request, fact_id)
    if fact.deletion_id is not None:
        raise Http404
    return fact


@contextmanager
def _in_the_way(request: Request, fact_id: UUID) -> Iterator[None]:
    """Say of a fact that is being forgotten how that is undone."""
    try:
        yield
    except facts.OnItsWayOut as reason:
        gone = own_fact(request, fact_id).deletion_id
        more: dict[str, Any] = {"conflicts_with": str(gone), "undo": undo_of(gone)} if gone else {}
        raise Problem("conflict", str(reason), **more) from reason
