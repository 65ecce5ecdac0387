"""Pending deletions and undo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404
from django.urls import reverse
from ninja import Router, Schema
from pydantic import Field

from chat.access import own_deletion
from chat.actions import deletions
from chat.api.problems import Problem
from chat.error_messages import describe
from chat.errors import PendingDeletion, Refused
from chat.models import AppMemory, Deletion, DeletionState, Fact

from .common import ApiRequest, problem_responses

router = Router(tags=["deletions"])


class DeletionOut(Schema):
    """A deletion: hidden at once, permanent at `expires_at`; until then a POST to `undo` takes it back."""

    id: UUID
    state: str = Field(description="pending, undone or done")
    pressed_at: datetime
    expires_at: datetime
    undo: str


def build_deletion(deletion: Deletion) -> DeletionOut:
    """Return a deletion as clients see it."""
    return DeletionOut(
        id=deletion.pk,
        state=deletion.state,
        pressed_at=deletion.pressed_at,
        expires_at=deletion.expires_at,
        undo=build_undo_url(deletion.pk),
    )


def press_or_find_pending(press: Callable[[], Deletion], earlier: Callable[[], Deletion | None]) -> Deletion:
    """Return the deletion that `press` makes, or the pending one that has deleted the object already.

    A repeated request therefore gets the same undo. Raises what `press` raises where none is pending.
    """
    try:
        return press()
    except (Refused, Http404):
        before = earlier()
        if before is None or before.state != DeletionState.PENDING:
            raise
        return before


def find_pending_deletion(request: ApiRequest, **fields: Any) -> Deletion | None:
    """Return the owner's newest pending deletion with these field values."""
    return Deletion.objects.for_owner(request.auth).pending().filter(**fields).last()


def build_undo_url(deletion: Any) -> str:
    """Return the address that undoes a deletion."""
    return reverse("rest:undo", args=[deletion])


class UndoneOut(Schema):
    """What an undo restored: facts unchanged, merged with newer ones, or superseded by newer ones."""

    detail: str
    returned: list[UUID]
    merged: list[UUID]
    superseded: list[UUID]
    app_memories: int
    conversation: UUID | None


@router.get("/{deletion_id}", response=DeletionOut)
def get_deletion(request: ApiRequest, deletion_id: UUID) -> DeletionOut:
    """Return the state of a deletion."""
    return build_deletion(own_deletion(request, deletion_id))


@router.post("/{deletion_id}/undo", response=UndoneOut, url_name="undo", openapi_extra=problem_responses(409))
def undo_deletion(request: ApiRequest, deletion_id: UUID) -> UndoneOut:
    """Undo a deletion before it expires."""
    undone = deletions.undo_deletion(own_deletion(request, deletion_id))
    return UndoneOut(
        detail=undone.sentence,
        returned=[fact.pk for fact in undone.returned],
        merged=[fact.pk for fact in undone.merged],
        superseded=[fact.pk for fact in undone.superseded],
        app_memories=undone.app_memories,
        conversation=undone.conversation.pk if undone.conversation else None,
    )


@contextmanager
def explain_pending_deletion(load: Callable[[], Fact | AppMemory]) -> Iterator[None]:
    """Turn PendingDeletion into a problem with the address of undo; `load` reads the object again."""
    try:
        yield
    except PendingDeletion as reason:
        deletion = load().deletion_id
        more = {"conflicts_with": str(deletion), "undo": build_undo_url(deletion)} if deletion else {}
        raise Problem("conflict", describe(reason), errors=None, headers=None, **more) from reason
