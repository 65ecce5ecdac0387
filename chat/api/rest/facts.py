"""Facts: list and search, add, edit and pin, delete and restore."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import Http404, HttpResponse
from ninja import Query, Router
from ninja.responses import Status

from chat.access import own_event, own_fact
from chat.actions import archive, deletions, facts, optimistic_lock
from chat.actions import fact_history as fact_history_module
from chat.actions.idempotency import CreatedObjects
from chat.api.problems import Problem
from chat.error_messages import describe
from chat.errors import PendingDeletion, Refused
from chat.memory.text_similarity import normalize_text
from chat.models import Category, Deletion, Fact, Origin
from chat.search import semantic as finding

from .common import (
    ApiRequest,
    IdempotencyKey,
    IfMatch,
    Limit,
    Offset,
    Page,
    create_once,
    paginate,
    parse_if_match,
    problem_responses,
    require_row,
    set_etag,
    set_location,
)
from .deletions import (
    DeletionOut,
    build_deletion,
    explain_pending_deletion,
    find_pending_deletion,
    press_or_find_pending,
)
from .fact_shapes import EventOut, FactIn, FactOut, FactPatch, RestoreIn, build_fact, fact_etag

router = Router(tags=["facts"])


@router.get("", response=Page[FactOut])
def list_facts(
    request: ApiRequest,
    q: Annotated[str, Query(max_length=200, description="Text that the fact contains.")] = "",
    meant: Annotated[
        str,
        Query(
            max_length=2000, description="Text in other words: returns the one live fact of the same meaning."
        ),
    ] = "",
    category: Category | None = None,
    pinned: bool | None = None,
    state: Literal["live", "archived", "heard_once"] = "live",
    limit: Limit = 20,
    offset: Offset = 0,
) -> Page[FactOut]:
    """List facts by category, in it pinned ones first, then the last mentioned first."""
    facts_of_owner = Fact.objects.for_owner(request.auth)
    if meant:
        one = finding.find_best_match(request.auth, meant)
        facts_of_owner = facts_of_owner.filter(pk=one.pk) if one else facts_of_owner.none()
    rows = facts_of_owner.live().in_panel_order()
    if state != "live":
        rows = facts_of_owner.archived() if state == "archived" else facts_of_owner.heard_once()
    if category is not None:
        rows = rows.filter(category=category)
    if pinned is not None:
        rows = rows.filter(pinned=pinned)
    # Filtered in Python: at most 150 facts are live, and SQLite folds the case of ASCII letters only.
    wanted = normalize_text(q)
    found = [f for f in rows.with_conversations() if wanted in normalize_text(f.text)]
    return paginate(request, found, build_fact, limit, offset)


@router.post("", response={200: FactOut, 201: FactOut}, openapi_extra=problem_responses(410))
def add_fact(
    request: ApiRequest, response: HttpResponse, body: FactIn, idempotency_key: IdempotencyKey = None
) -> Status[FactOut]:
    """Add a fact: 201, or 200 with the fact that says the same, whose mentions are counted up."""

    def make() -> CreatedObjects:
        fact = facts.add_fact(request.auth, body.text, Origin(body.origin))
        return CreatedObjects([str(fact.pk)], 201 if fact.mention_count == 1 else 200)

    made = create_once(request, response, idempotency_key, make)
    rows = Fact.objects.for_owner(request.auth).with_conversations()
    fact = require_row(rows.filter(pk__in=made.ids, deletion=None))
    set_location(response, "get_fact", fact.pk)
    set_etag(response, fact_etag(fact))
    return Status(made.status, build_fact(fact))


@router.post("/clear", response=DeletionOut, openapi_extra=problem_responses(409))
def clear_facts(request: ApiRequest) -> DeletionOut:
    """Delete all facts: hidden at once, permanent after eight seconds.

    Repeated while the deletion is pending, it returns the same deletion.
    """
    press = lambda: deletions.clear_memory(request.auth)  # noqa: E731
    return build_deletion(
        press_or_find_pending(press, lambda: find_pending_deletion(request, everything=True))
    )


@router.get("/{fact_id}", response=FactOut)
def get_fact(request: ApiRequest, response: HttpResponse, fact_id: UUID) -> FactOut:
    """Return one fact: live, superseded or archived."""
    fact = _visible_fact(request, fact_id)
    set_etag(response, fact_etag(fact))
    return build_fact(fact)


@router.patch("/{fact_id}", response=FactOut, openapi_extra=problem_responses(409, 412, 428))
def edit_fact(
    request: ApiRequest, response: HttpResponse, fact_id: UUID, body: FactPatch, if_match: IfMatch = None
) -> FactOut:
    """Change text, category or pin of a live fact. Needs `If-Match`.

    Where another fact says the same already, that fact is returned.
    """
    wanted = parse_if_match(if_match, needed=True)
    with explain_pending_deletion(lambda: own_fact(request, fact_id)):
        read = lambda: own_fact(request, fact_id)  # noqa: E731
        with optimistic_lock.lock_if_unchanged(request.auth, read, fact_etag, wanted) as fact:
            if body.text is not None or body.category is not None:
                fact = facts.edit_fact(fact, body.text or fact.text, body.category or "")
            if body.pinned is not None:
                fact = _set_pinned(fact, body.pinned)
    fact = _visible_fact(request, fact.pk)
    set_etag(response, fact_etag(fact))
    return build_fact(fact)


@router.delete("/{fact_id}", response=DeletionOut, openapi_extra=problem_responses(409, 412))
def forget_fact(request: ApiRequest, fact_id: UUID, if_match: IfMatch = None) -> DeletionOut:
    """Delete a fact and those that it superseded: hidden at once, permanent after four seconds.

    Repeated while the deletion is pending, it returns the same deletion.
    """

    def read() -> Fact:
        return own_fact(request, fact_id)

    def press() -> Deletion:
        with optimistic_lock.lock_if_unchanged(
            request.auth, read, fact_etag, parse_if_match(if_match)
        ) as fact:
            return deletions.forget_facts(request.auth, [fact.pk])

    return build_deletion(press_or_find_pending(press, lambda: read().deletion))


@router.get("/{fact_id}/history", response=list[EventOut])
def fact_history(request: ApiRequest, fact_id: UUID) -> list[EventOut]:
    """Return the events of a fact and of the facts that it superseded, the oldest event first."""
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
        for event in fact_history_module.list_history(_visible_fact(request, fact_id))
    ]


@router.post("/{fact_id}/restore", response=FactOut, openapi_extra=problem_responses(409))
def restore_fact(request: ApiRequest, response: HttpResponse, fact_id: UUID, body: RestoreIn) -> FactOut:
    """Restore the text that a fact had after an event of its history; returns the restored fact."""
    with explain_pending_deletion(lambda: own_fact(request, fact_id)):
        restored = fact_history_module.restore_fact(
            own_fact(request, fact_id), own_event(request, body.event)
        )
    fact = _visible_fact(request, restored.pk)
    set_etag(response, fact_etag(fact))
    return build_fact(fact)


@router.post("/{fact_id}/bring-back", response=FactOut, openapi_extra=problem_responses(409))
def bring_back_fact(request: ApiRequest, response: HttpResponse, fact_id: UUID) -> FactOut:
    """Restore a fact from the archive, which keeps decayed and evicted facts for thirty days."""
    with explain_pending_deletion(lambda: own_fact(request, fact_id)):
        fact = _visible_fact(request, archive.restore_archived_fact(own_fact(request, fact_id)).pk)
    set_etag(response, fact_etag(fact))
    return build_fact(fact)


def _set_pinned(fact: Fact, pinned: bool) -> Fact:
    try:
        return facts.pin_fact(fact, pinned)
    except PendingDeletion:
        raise
    except Refused as reason:
        oldest = facts.find_oldest_pin_if_full(fact)
        more: dict[str, Any] = {"conflicts_with": str(oldest.pk)} if oldest else {}
        raise Problem("conflict", describe(reason), **more) from reason


def _visible_fact(request: ApiRequest, fact_id: UUID) -> Fact:
    fact = own_fact(request, fact_id)
    if fact.deletion_id is not None:
        raise Http404
    return fact
