"""Conversations: begun, listed, changed, ended, deleted with undo, and pruned."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from chat.actions import branches, conversations, deletions, guard, keeping, rooms
from chat.actions.idempotency import Made
from chat.generation import run as generation
from chat.models import Conversation, Deletion, MemoryMode, Strategy
from chat.models.conversation import ConversationQuerySet
from chat.views.scope import own_conversation

from .common import (
    Body,
    DeletionOut,
    Flag,
    IdempotencyKey,
    IfMatch,
    Limit,
    Offset,
    Page,
    Request,
    Whole,
    app_or_404,
    create,
    deletion_out,
    located,
    on_its_way,
    page,
    responses,
    seen,
    still_there,
    tagged,
)

router = Router(tags=["conversations"])
# Long enough for a reply to end at its next token and be saved.
_STOPPING_SECONDS = 5.0
_LONGEST_AGO = 36_500  # days


class ConversationOut(Schema):
    """A conversation without its messages; `strategy` "" is as its app has it."""

    id: UUID
    app: str = Field(description="The app's slug.")
    title: str
    system_prompt: str
    strategy: str
    memory_mode: MemoryMode
    temporary: bool
    pinned: bool
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    etag: str = Field(description="Send it as `If-Match` to change what you have read.")


class ConversationIn(Body):
    """A conversation to begin; a temporary one has no memory and no place in lists, and goes at its end."""

    app: str | None = Field(default=None, max_length=60, description="Slug or id; else the first app.")
    title: str = Field(default="", max_length=rooms.LONGEST_TITLE)
    system_prompt: str = Field(default="", max_length=20_000)
    strategy: Strategy | None = None
    memory_mode: MemoryMode = MemoryMode.ON
    temporary: Flag = False
    metadata: dict[str, Any] = Field(default_factory=dict, description="Anything of your own.")


class ConversationPatch(Body):
    """What is to change; what is left out stays. `strategy` null is as the app has it."""

    app: str | None = Field(default=None, max_length=60)
    title: str | None = Field(default=None, min_length=1, max_length=rooms.LONGEST_TITLE)
    strategy: Strategy | None = None
    memory_mode: MemoryMode | None = None
    pinned: Flag | None = None


class PruneIn(Body):
    """How many days ago a conversation was last written in, at least."""

    days: Whole = Field(ge=1, le=_LONGEST_AGO)


class PrunedOut(Schema):
    """How many conversations were deleted."""

    deleted: int


class EndedOut(Schema):
    """Whether the conversation was ended now; false where it had ended before."""

    ended: bool


class KeptOut(Schema):
    """Whether a temporary conversation stays from now on; false where it stayed already."""

    kept: bool


def conversation_mark(found: Conversation) -> str:
    """Return what changes with everything of a conversation that can be edited."""
    return guard.mark(found.pk, found.app_id, found.title, found.strategy, found.memory_mode, found.pinned)


def conversation_out(found: Conversation) -> ConversationOut:
    """Tell a conversation that came with its app."""
    return ConversationOut(
        id=found.pk,
        app=found.app.slug,
        title=found.title,
        system_prompt=found.system_prompt,
        strategy=found.strategy,
        memory_mode=MemoryMode(found.memory_mode),
        temporary=found.temporary,
        pinned=found.pinned,
        # Django hands on as text what is no JSON.
        metadata=found.metadata if isinstance(found.metadata, dict) else {},
        created_at=found.created_at,
        updated_at=found.updated_at,
        ended_at=found.ended_at,
        etag=conversation_mark(found),
    )


@router.get("", response=Page[ConversationOut], openapi_extra=responses(404))
def list_conversations(
    request: Request,
    app: Annotated[str | None, Query(max_length=60, description="An app's slug or id.")] = None,
    pinned: bool | None = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Page[ConversationOut]:
    """List conversations, the one last written in first; temporary ones stand in no list."""
    rows = _mine(request).listed().newest_first()
    if app is not None:
        rows = rows.filter(app=app_or_404(request, app))
    if pinned is not None:
        rows = rows.filter(pinned=pinned)
    return page(request, rows, conversation_out, limit, offset)


@router.post("", response={201: ConversationOut}, openapi_extra=responses(404, 410))
def begin_conversation(
    request: Request, response: HttpResponse, body: ConversationIn, idempotency_key: IdempotencyKey = None
) -> ConversationOut:
    """Begin an empty conversation."""
    fields = body.model_dump(exclude={"app", "title", "strategy"}) | {"strategy": body.strategy or ""}
    if body.temporary:
        fields["memory_mode"] = MemoryMode.OFF
    if body.app is not None:
        fields["app"] = app_or_404(request, body.app)

    def make() -> Made:
        made = keeping.begin(request.auth, **fields)
        if body.title.strip():
            rooms.rename(made, body.title)
        return Made([str(made.pk)])

    made = create(request, response, idempotency_key, make)
    found = still_there(_mine(request).filter(pk__in=made.ids))
    located(response, "get_conversation", found.pk)
    tagged(response, conversation_mark(found))
    return conversation_out(found)


@router.post("/prune", response=PrunedOut)
def prune_conversations(request: Request, body: PruneIn) -> PrunedOut:
    """Delete for good what nobody wrote in for so many days; pinned ones and those with a flag stay."""
    return PrunedOut(deleted=keeping.prune(request.auth, timezone.now() - timedelta(days=body.days)))


@router.get("/{conversation_id}", response=ConversationOut)
def get_conversation(request: Request, response: HttpResponse, conversation_id: UUID) -> ConversationOut:
    """Tell one conversation."""
    found = own_conversation(request, conversation_id)
    tagged(response, conversation_mark(found))
    return conversation_out(found)


@router.patch("/{conversation_id}", response=ConversationOut, openapi_extra=responses(409, 412))
def edit_conversation(
    request: Request,
    response: HttpResponse,
    conversation_id: UUID,
    body: ConversationPatch,
    if_match: IfMatch = None,
) -> ConversationOut:
    """Change its title, pin, strategy or memory, or move it to another app."""
    given = body.model_dump(exclude_unset=True)
    verbs: dict[str, Callable[[Conversation, Any], None]] = {
        "title": rooms.rename,
        "pinned": rooms.set_pinned,
        "strategy": lambda found, value: keeping.set_strategy(found, value or ""),
        "memory_mode": conversations.set_memory_mode,
        "app": lambda found, value: rooms.move(found, app_or_404(request, value)),
    }

    def read() -> Conversation:
        return own_conversation(request, conversation_id)

    with guard.unchanged(request.auth, read, conversation_mark, seen(if_match)) as found:
        for name, value in given.items():
            # Only the strategy has a "none".
            if value is not None or name == "strategy":
                verbs[name](found, value)
    found = read()
    tagged(response, conversation_mark(found))
    return conversation_out(found)


@router.delete("/{conversation_id}", response=DeletionOut, openapi_extra=responses(409, 412))
def delete_conversation(
    request: Request,
    conversation_id: UUID,
    memories: Annotated[bool, Query(description="Whether to forget what was learned in it, too.")] = False,
    if_match: IfMatch = None,
) -> DeletionOut:
    """Delete a conversation: gone at once, for good after eight seconds. A reply in the making is stopped.

    Of one that is on its way already the same deletion is told.
    """

    wanted = seen(if_match)

    def read() -> Conversation:
        return own_conversation(request, conversation_id)

    def press() -> Deletion:
        # Before the reply is stopped, for which nobody waits inside a transaction.
        guard.compare(found := read(), conversation_mark, wanted)
        generation.stop_in(found.pk, patience=_STOPPING_SECONDS)
        with guard.unchanged(request.auth, read, conversation_mark, wanted) as found:
            return deletions.delete_conversation(found, with_memories=memories)

    leaving = Conversation.objects.for_owner(request.auth).select_related("deletion")
    return deletion_out(on_its_way(press, lambda: get_object_or_404(leaving, pk=conversation_id).deletion))


@router.post("/{conversation_id}/end", response=EndedOut)
def end_conversation(request: Request, conversation_id: UUID) -> EndedOut:
    """End a conversation: its app remembers it. The next message opens it again; a temporary one is gone."""
    found = own_conversation(request, conversation_id)
    if found.temporary:
        generation.stop_in(found.pk, patience=_STOPPING_SECONDS)
    return EndedOut(ended=conversations.end(found))


@router.post("/{conversation_id}/keep", response=KeptOut)
def keep_conversation(request: Request, conversation_id: UUID) -> KeptOut:
    """Make a temporary conversation one that stays; memory reads what is said in it from now on."""
    return KeptOut(kept=conversations.keep(own_conversation(request, conversation_id)))


@router.post("/{conversation_id}/clear", response=ConversationOut, openapi_extra=responses(409))
def hide_history(request: Request, conversation_id: UUID) -> ConversationOut:
    """Hide all that was said so far from the model; it stays readable."""
    branches.clear(own_conversation(request, conversation_id))
    return conversation_out(own_conversation(request, conversation_id))


@router.delete("/{conversation_id}/clear", response=ConversationOut, openapi_extra=responses(409))
def show_history(request: Request, conversation_id: UUID) -> ConversationOut:
    """Let the model see everything again."""
    branches.unclear(own_conversation(request, conversation_id))
    return conversation_out(own_conversation(request, conversation_id))


def _mine(request: Request) -> ConversationQuerySet:
    return Conversation.objects.for_owner(request.auth).kept().select_related("app")
