"""The memories of an app; member names are in camelCase here and nowhere else."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpResponse
from ninja import Router, Schema
from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from chat.access import own_app_memory
from chat.actions import app_memories, deletions, optimistic_lock
from chat.models import MAX_CONTENT, AppMemory, Deletion

from .common import ApiRequest, Body, IfMatch, find_app, parse_if_match, problem_responses, set_etag
from .deletions import (
    DeletionOut,
    build_deletion,
    explain_pending_deletion,
    find_pending_deletion,
    press_or_find_pending,
)

router = Router(tags=["apps"])


class CamelCaseSchema(Schema):
    """The base of schemas whose members are in camelCase: `createdAt`."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class AppMemoryOut(CamelCaseSchema):
    """An app memory: two to four sentences about one conversation."""

    id: UUID
    content: str
    source_conversation_id: UUID | None
    metadata: dict[str, Any] = Field(description="importance 0 to 10, tags, related_conversations")
    created_at: datetime
    updated_at: datetime
    etag: str


class MemoriesOut(Schema):
    """The memories of an app, the last changed first; at most ten."""

    memories: list[AppMemoryOut]


class AppMemoryPatch(Body):
    """A new text for an app memory."""

    content: str = Field(min_length=1, max_length=MAX_CONTENT)


class ForgottenOut(CamelCaseSchema):
    """The number of deleted memories, and the deletion with its undo."""

    success: bool
    deleted_count: int
    deletion: DeletionOut


def app_memory_etag(memory: AppMemory) -> str:
    """Return the etag of an app memory; it changes with the text."""
    return optimistic_lock.fingerprint(memory.pk, memory.content, memory.updated_at)


def build_app_memory(memory: AppMemory) -> AppMemoryOut:
    """Return an app memory as clients see it, without a source conversation that is being deleted."""
    source = memory.source_conversation
    return AppMemoryOut(
        id=memory.pk,
        content=memory.content,
        source_conversation_id=source.pk if source is not None and source.deletion_id is None else None,
        metadata=memory.metadata,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        etag=app_memory_etag(memory),
    )


@router.get("/{app_id}/memories", response=MemoriesOut, by_alias=True)
def list_app_memories(request: ApiRequest, app_id: str) -> MemoriesOut:
    """List the memories of an app."""
    rows = AppMemory.objects.for_owner(request.auth).live().select_related("source_conversation")
    return MemoriesOut(memories=[build_app_memory(m) for m in rows.filter(app=find_app(request, app_id))])


@router.delete(
    "/{app_id}/memories", response=ForgottenOut, by_alias=True, openapi_extra=problem_responses(409)
)
def purge_app_memories(request: ApiRequest, app_id: str) -> ForgottenOut:
    """Delete all memories of an app: hidden at once, permanent after eight seconds.

    Repeated while the deletion is pending, it returns the same deletion.
    """
    app = find_app(request, app_id)
    press = lambda: deletions.forget_app_memories(app)  # noqa: E731
    return _forgotten(press_or_find_pending(press, lambda: find_pending_deletion(request, app=app)))


@router.get("/{app_id}/memories/{memory_id}", response=AppMemoryOut, by_alias=True)
def get_app_memory(request: ApiRequest, response: HttpResponse, app_id: str, memory_id: UUID) -> AppMemoryOut:
    """Return one memory of an app."""
    memory = _memory(request, app_id, memory_id)
    if memory.deletion_id is not None:
        raise Http404
    set_etag(response, app_memory_etag(memory))
    return build_app_memory(memory)


@router.patch(
    "/{app_id}/memories/{memory_id}",
    response=AppMemoryOut,
    by_alias=True,
    openapi_extra=problem_responses(409, 412, 428),
)
def edit_app_memory(
    request: ApiRequest,
    response: HttpResponse,
    app_id: str,
    memory_id: UUID,
    body: AppMemoryPatch,
    if_match: IfMatch = None,
) -> AppMemoryOut:
    """Change the text of an app memory. Needs `If-Match`."""
    wanted = parse_if_match(if_match, needed=True)

    def read() -> AppMemory:
        return _memory(request, app_id, memory_id)

    locked = optimistic_lock.lock_if_unchanged(request.auth, read, app_memory_etag, wanted)
    with explain_pending_deletion(read), locked as memory:
        app_memories.edit_app_memory(memory, body.content)
    return get_app_memory(request, response, app_id, memory_id)


@router.delete(
    "/{app_id}/memories/{memory_id}",
    response=ForgottenOut,
    by_alias=True,
    openapi_extra=problem_responses(409, 412),
)
def forget_app_memory(
    request: ApiRequest, app_id: str, memory_id: UUID, if_match: IfMatch = None
) -> ForgottenOut:
    """Delete one memory of an app: hidden at once, permanent after four seconds.

    Repeated while the deletion is pending, it returns the same deletion.
    """

    def read() -> AppMemory:
        return _memory(request, app_id, memory_id)

    def press() -> Deletion:
        with optimistic_lock.lock_if_unchanged(
            request.auth, read, app_memory_etag, parse_if_match(if_match)
        ) as memory:
            return deletions.forget_app_memories(memory.app, [memory.pk])

    return _forgotten(press_or_find_pending(press, lambda: read().deletion))


def _memory(request: ApiRequest, app_id: str, memory_id: UUID) -> AppMemory:
    memory = own_app_memory(request, memory_id)
    if memory.app_id != find_app(request, app_id).pk:
        raise Http404
    return memory


def _forgotten(deletion: Deletion) -> ForgottenOut:
    return ForgottenOut(
        success=True, deleted_count=deletion.app_memories.count(), deletion=build_deletion(deletion)
    )
