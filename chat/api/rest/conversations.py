"""Conversations: list, create, edit, end, delete with undo, and prune."""

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

from chat.access import conversations_of, own_conversation
from chat.actions import conversations, deletions, erasure, message_edits, optimistic_lock
from chat.actions.idempotency import CreatedObjects
from chat.generation import run as generation
from chat.models import Conversation, Deletion, MemoryMode, Strategy

from .common import (
    ApiRequest,
    Body,
    Flag,
    IdempotencyKey,
    IfMatch,
    Limit,
    Offset,
    Page,
    Whole,
    create_once,
    find_app,
    paginate,
    parse_if_match,
    problem_responses,
    require_row,
    set_etag,
    set_location,
)
from .deletions import DeletionOut, build_deletion, press_or_find_pending

router = Router(tags=["conversations"])
# How long a request waits until a stopped reply has reached its next token and is saved.
_STOPPING_SECONDS = 5.0
_LONGEST_AGO = 36_500  # days


class ConversationOut(Schema):
    """A conversation without its messages; `strategy` "" stands for its app's strategy."""

    id: UUID
    app: str = Field(description="The app's slug.")
    title: str
    system_prompt: str
    strategy: str
    memory_mode: MemoryMode
    use_past_chats: bool = Field(description="Whether prompts of it may quote past conversations.")
    use_reasoning: bool = Field(description="Whether a model that can reason does so before its replies.")
    temporary: bool
    pinned: bool
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    etag: str = Field(description="Send it as `If-Match` to change what you have read.")


class ConversationIn(Body):
    """A new conversation; a temporary one has no memory, is in no list, and is erased at its end."""

    app: str | None = Field(default=None, max_length=60, description="Slug or id; else the first app.")
    title: str = Field(default="", max_length=conversations.LONGEST_TITLE)
    system_prompt: str = Field(default="", max_length=20_000)
    strategy: Strategy | None = None
    memory_mode: MemoryMode = MemoryMode.ON
    use_past_chats: Flag = True
    use_reasoning: Flag = False
    temporary: Flag = False
    metadata: dict[str, Any] = Field(default_factory=dict, description="Any JSON of your own.")


class ConversationPatch(Body):
    """The members to change; the others stay. `strategy` null stands for the app's strategy."""

    app: str | None = Field(default=None, max_length=60)
    title: str | None = Field(default=None, min_length=1, max_length=conversations.LONGEST_TITLE)
    strategy: Strategy | None = None
    memory_mode: MemoryMode | None = None
    use_past_chats: Flag | None = None
    use_reasoning: Flag | None = None
    pinned: Flag | None = None


class PruneIn(Body):
    """The age from which conversations are deleted, in days since their last change."""

    days: Whole = Field(ge=1, le=_LONGEST_AGO)


class PrunedOut(Schema):
    """How many conversations were deleted."""

    deleted: int


class EndedOut(Schema):
    """Whether the conversation was ended now; false where it had ended before."""

    ended: bool


class KeptOut(Schema):
    """Whether a temporary conversation was made permanent now; false where it was permanent already."""

    kept: bool


def conversation_etag(found: Conversation) -> str:
    """Return the etag of a conversation; it changes with every editable member."""
    return optimistic_lock.fingerprint(
        *(found.pk, found.app_id, found.title, found.strategy, found.memory_mode, found.pinned),
        *(found.use_past_chats, found.use_reasoning),
    )


def build_conversation(found: Conversation) -> ConversationOut:
    """Return a conversation as clients see it; its app must be loaded."""
    return ConversationOut(
        id=found.pk,
        app=found.app.slug,
        title=found.title,
        system_prompt=found.system_prompt,
        strategy=found.strategy,
        memory_mode=MemoryMode(found.memory_mode),
        use_past_chats=found.use_past_chats,
        use_reasoning=found.use_reasoning,
        temporary=found.temporary,
        pinned=found.pinned,
        # Django returns invalid JSON as text.
        metadata=found.metadata if isinstance(found.metadata, dict) else {},
        created_at=found.created_at,
        updated_at=found.updated_at,
        ended_at=found.ended_at,
        etag=conversation_etag(found),
    )


@router.get("", response=Page[ConversationOut], openapi_extra=problem_responses(404))
def list_conversations(
    request: ApiRequest,
    app: Annotated[str | None, Query(max_length=60, description="An app's slug or id.")] = None,
    pinned: bool | None = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> Page[ConversationOut]:
    """List conversations, the last changed first, without temporary ones."""
    rows = conversations_of(request.auth).listed().newest_first()
    if app is not None:
        rows = rows.filter(app=find_app(request, app))
    if pinned is not None:
        rows = rows.filter(pinned=pinned)
    return paginate(request, rows, build_conversation, limit, offset)


@router.post("", response={201: ConversationOut}, openapi_extra=problem_responses(404, 410))
def begin_conversation(
    request: ApiRequest, response: HttpResponse, body: ConversationIn, idempotency_key: IdempotencyKey = None
) -> ConversationOut:
    """Create an empty conversation."""
    fields = body.model_dump(exclude={"app", "title", "strategy"}) | {"strategy": body.strategy or ""}
    if body.temporary:
        fields["memory_mode"] = MemoryMode.OFF
    if body.app is not None:
        fields["app"] = find_app(request, body.app)

    def make() -> CreatedObjects:
        made = conversations.create_conversation(request.auth, **fields)
        if body.title.strip():
            conversations.rename_conversation(made, body.title)
        return CreatedObjects([str(made.pk)])

    made = create_once(request, response, idempotency_key, make)
    found = require_row(conversations_of(request.auth).filter(pk__in=made.ids))
    set_location(response, "get_conversation", found.pk)
    set_etag(response, conversation_etag(found))
    return build_conversation(found)


@router.post("/prune", response=PrunedOut)
def prune_conversations(request: ApiRequest, body: PruneIn) -> PrunedOut:
    """Delete old conversations permanently; pinned ones and those with a flagged message stay."""
    return PrunedOut(
        deleted=erasure.prune_conversations(request.auth, timezone.now() - timedelta(days=body.days))
    )


@router.get("/{conversation_id}", response=ConversationOut)
def get_conversation(request: ApiRequest, response: HttpResponse, conversation_id: UUID) -> ConversationOut:
    """Return one conversation."""
    found = own_conversation(request, conversation_id)
    set_etag(response, conversation_etag(found))
    return build_conversation(found)


@router.patch("/{conversation_id}", response=ConversationOut, openapi_extra=problem_responses(409, 412))
def edit_conversation(
    request: ApiRequest,
    response: HttpResponse,
    conversation_id: UUID,
    body: ConversationPatch,
    if_match: IfMatch = None,
) -> ConversationOut:
    """Change title, pin, strategy or the use of memory of a conversation, or move it to another app."""
    given = body.model_dump(exclude_unset=True)
    setters: dict[str, Callable[[Conversation, Any], None]] = {
        "title": conversations.rename_conversation,
        "pinned": conversations.pin_conversation,
        "strategy": lambda found, value: conversations.set_strategy(found, value or ""),
        "memory_mode": conversations.set_memory_mode,
        "use_past_chats": lambda found, value: conversations.set_past_chats(found, "on" if value else "off"),
        "use_reasoning": lambda found, value: conversations.set_reasoning(found, "on" if value else "off"),
        "app": lambda found, value: conversations.move_conversation(found, find_app(request, value)),
    }

    def read() -> Conversation:
        return own_conversation(request, conversation_id)

    with optimistic_lock.lock_if_unchanged(
        request.auth, read, conversation_etag, parse_if_match(if_match)
    ) as found:
        for name, value in given.items():
            # `strategy` is the only member that may be null.
            if value is not None or name == "strategy":
                setters[name](found, value)
    found = read()
    set_etag(response, conversation_etag(found))
    return build_conversation(found)


@router.delete("/{conversation_id}", response=DeletionOut, openapi_extra=problem_responses(409, 412))
def delete_conversation(
    request: ApiRequest,
    conversation_id: UUID,
    memories: Annotated[bool, Query(description="Whether to delete the facts learned in it too.")] = False,
    if_match: IfMatch = None,
) -> DeletionOut:
    """Delete a conversation: hidden at once, permanent after eight seconds. A running reply is stopped.

    Repeated while the deletion is pending, it returns the same deletion.
    """

    wanted = parse_if_match(if_match)

    def read() -> Conversation:
        return own_conversation(request, conversation_id)

    def press() -> Deletion:
        # Compare first: stopping the reply waits, which must not happen inside the transaction below.
        optimistic_lock.require_fingerprint(found := read(), conversation_etag, wanted)
        generation.stop_in_conversation(found.pk, timeout=_STOPPING_SECONDS)
        with optimistic_lock.lock_if_unchanged(request.auth, read, conversation_etag, wanted) as found:
            return deletions.delete_conversation(found, with_memories=memories)

    rows = Conversation.objects.for_owner(request.auth).select_related("deletion")
    return build_deletion(
        press_or_find_pending(press, lambda: get_object_or_404(rows, pk=conversation_id).deletion)
    )


@router.post("/{conversation_id}/end", response=EndedOut)
def end_conversation(request: ApiRequest, conversation_id: UUID) -> EndedOut:
    """End a conversation: its app stores a memory of it. The next message reopens it.

    A temporary conversation is erased.
    """
    found = own_conversation(request, conversation_id)
    if found.temporary:
        generation.stop_in_conversation(found.pk, timeout=_STOPPING_SECONDS)
    return EndedOut(ended=conversations.end_conversation(found))


@router.post("/{conversation_id}/keep", response=KeptOut)
def keep_conversation(request: ApiRequest, conversation_id: UUID) -> KeptOut:
    """Make a temporary conversation permanent; facts are extracted from its later messages."""
    return KeptOut(kept=conversations.keep_temporary(own_conversation(request, conversation_id)))


@router.post("/{conversation_id}/clear", response=ConversationOut, openapi_extra=problem_responses(409))
def hide_history(request: ApiRequest, conversation_id: UUID) -> ConversationOut:
    """Hide all messages so far from the model; they stay readable."""
    message_edits.clear_conversation(own_conversation(request, conversation_id))
    return build_conversation(own_conversation(request, conversation_id))


@router.delete("/{conversation_id}/clear", response=ConversationOut, openapi_extra=problem_responses(409))
def show_history(request: ApiRequest, conversation_id: UUID) -> ConversationOut:
    """Show all messages to the model again."""
    message_edits.undo_clear(own_conversation(request, conversation_id))
    return build_conversation(own_conversation(request, conversation_id))
