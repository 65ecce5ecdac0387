"""What an app remembers, under the seed's addresses and in its shapes (seed 003)."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from ninja import Router, Schema
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from chat.actions import app_memories, deletions, guard
from chat.actions.facts import OnItsWayOut
from chat.api.problems import Problem
from chat.models import MAX_CONTENT, AppMemory, Deletion
from chat.views.scope import own_app_memory

from .common import (
    Body,
    DeletionOut,
    IfMatch,
    Request,
    app_or_404,
    deletion_out,
    on_its_way,
    pending,
    responses,
    seen,
    tagged,
    undo_of,
)

router = Router(tags=["apps"])


class SeedSchema(Schema):
    """What is told in the seed's own words, which are written like this: `createdAt`."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class AppMemoryOut(SeedSchema):
    """A few sentences about one conversation."""

    id: UUID
    content: str
    source_conversation_id: UUID | None
    metadata: dict[str, Any] = Field(description="importance 0 to 10, tags, related_conversations")
    created_at: datetime
    updated_at: datetime
    etag: str


class MemoriesOut(Schema):
    """What an app remembers, the last changed first; at most ten."""

    memories: list[AppMemoryOut]


class AppMemoryPatch(Body):
    """The memory in the owner's own words."""

    content: str = Field(min_length=1, max_length=MAX_CONTENT)


class ForgottenOut(SeedSchema):
    """How many memories are on their way out, and how to take it back."""

    success: bool
    deleted_count: int
    deletion: DeletionOut


def memory_mark(memory: AppMemory) -> str:
    """Return what changes with a memory's words."""
    return guard.mark(memory.pk, memory.content, memory.updated_at)


def memory_out(memory: AppMemory) -> AppMemoryOut:
    """Tell what is remembered of a conversation, which may be on its way out itself."""
    source = memory.source_conversation
    return AppMemoryOut(
        id=memory.pk,
        content=memory.content,
        source_conversation_id=source.pk if source is not None and source.deletion_id is None else None,
        metadata=memory.metadata,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        etag=memory_mark(memory),
    )


@router.get("/{app_id}/memories", response=MemoriesOut, by_alias=True)
def list_app_memories(request: Request, app_id: str) -> MemoriesOut:
    """List what an app remembers."""
    rows = AppMemory.objects.for_owner(request.auth).live().select_related("source_conversation")
    return MemoriesOut(memories=[memory_out(m) for m in rows.filter(app=app_or_404(request, app_id))])


@router.delete("/{app_id}/memories", response=ForgottenOut, by_alias=True, openapi_extra=responses(409))
def purge_app_memories(request: Request, app_id: str) -> ForgottenOut:
    """Forget all that an app remembers: gone at once, for good after eight seconds.

    Where it is on its way already the same deletion is told.
    """
    app = app_or_404(request, app_id)
    press = lambda: deletions.forget_app_memories(app)  # noqa: E731
    return _forgotten(on_its_way(press, lambda: pending(request, app=app)))


@router.get("/{app_id}/memories/{memory_id}", response=AppMemoryOut, by_alias=True)
def get_app_memory(request: Request, response: HttpResponse, app_id: str, memory_id: UUID) -> AppMemoryOut:
    """Tell one memory of an app."""
    memory = _memory(request, app_id, memory_id)
    if memory.deletion_id is not None:
        raise Http404
    tagged(response, memory_mark(memory))
    return memory_out(memory)


@router.patch(
    "/{app_id}/memories/{memory_id}",
    response=AppMemoryOut,
    by_alias=True,
    openapi_extra=responses(409, 412, 428),
)
def edit_app_memory(
    request: Request,
    response: HttpResponse,
    app_id: str,
    memory_id: UUID,
    body: AppMemoryPatch,
    if_match: IfMatch = None,
) -> AppMemoryOut:
    """Put a memory in the owner's own words. Needs `If-Match`."""
    wanted = seen(if_match, needed=True)

    def read() -> AppMemory:
        return _memory(request, app_id, memory_id)

    try:
        with guard.unchanged(request.auth, read, memory_mark, wanted) as memory:
            app_memories.edit(memory, body.content)
    except OnItsWayOut as reason:
        gone = read().deletion_id
        more: dict[str, Any] = {"conflicts_with": str(gone), "undo": undo_of(gone)} if gone else {}
        raise Problem("conflict", str(reason), **more) from reason
    return get_app_memory(request, response, app_id, memory_id)


@router.delete(
    "/{app_id}/memories/{memory_id}", response=ForgottenOut, by_alias=True, openapi_extra=responses(409, 412)
)
def forget_app_memory(
    request: Request, app_id: str, memory_id: UUID, if_match: IfMatch = None
) -> ForgottenOut:
    """Forget one memory of an app: gone at once, for good after four seconds.

    Of one that is on its way already the same deletion is told.
    """

    def read() -> AppMemory:
        return _memory(request, app_id, memory_id)

    def press() -> Deletion:
        with guard.unchanged(request.auth, read, memory_mark, seen(if_match)) as memory:
            return deletions.forget_app_memories(memory.app, [memory.pk])

    return _forgotten(on_its_way(press, lambda: read().deletion))


def _memory(request: Request, app_id: str, memory_id: UUID) -> AppMemory:
    memory = own_app_memory(request, memory_id)
    if memory.app_id != app_or_404(request, app_id).pk:
        raise Http404
    return memory


def _forgotten(deletion: Deletion) -> ForgottenOut:
    return ForgottenOut(
        success=True, deleted_count=deletion.app_memories.count(), deletion=deletion_out(deletion)
    )
