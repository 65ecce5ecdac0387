"""Messages: the history of a conversation, and operations on one message. `replies` sends messages."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from ninja import Query, Router, Schema
from pydantic import Field

from chat.access import own_conversation, own_message
from chat.actions import message_edits
from chat.api.history import LoadedEnd, readable_messages, select_counter
from chat.context.assembly import importance_of
from chat.error_messages import describe
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.models import Message, MessageState, Role
from chat.topics.contents import load_contents

from .common import MAX_PAGE_SIZE, ApiRequest, Body, Flag, render, render_later

router = Router(tags=["messages"])
of_conversation = Router(tags=["messages"])
_MAX_WAIT_SECONDS = 120
_STOPPING_SECONDS = 2.0

Wait = Annotated[
    int,
    Query(ge=0, le=_MAX_WAIT_SECONDS, description="Seconds to wait for the end of a reply."),
]


class MessageOut(Schema):
    """One message; `place` is its order. A reply is `streaming` until it is complete, stopped or failed."""

    id: UUID
    conversation: UUID
    place: int
    role: Role
    content: str
    state: MessageState
    failure: str = Field(description="Why a reply stopped or failed.")
    before: int = Field(description="How many replies are served before one that waits for its turn, else 0.")
    flagged: bool = Field(description="Whether the user marked it as important.")
    importance: float = Field(
        ge=0, le=1, description="1 if flagged, else a score of its words; from 0.5 on it counts as important."
    )
    topic: UUID | None
    tool_calls: list[dict[str, Any]] | None
    tool_call_id: str
    name: str
    created_at: datetime


class HistoryOut(Schema):
    """A part of a conversation in time order; `next` is the address of the next part."""

    items: list[MessageOut]
    next: str | None


class RecentOut(Schema):
    """The newest messages that fit, in time order, and what counted their tokens."""

    items: list[MessageOut]
    tokens: int
    counted_by: str
    exact: bool = Field(description="Whether a model's tokenizer counted, and not a rule of thumb.")


class MessagePatch(Body):
    """Whether the message is marked as important."""

    flagged: Flag


def build_message(message: Message) -> MessageOut:
    """Return a message as clients see it; packed contents must be loaded."""
    return MessageOut(
        id=message.pk,
        conversation=message.conversation_id,
        place=message.seq,
        role=Role(message.role),
        content=message.content,
        state=MessageState(message.state),
        failure=describe(message.failure),
        before=_find_place(message),
        flagged=message.flagged,
        importance=importance_of(message),
        topic=message.topic_id,
        tool_calls=message.tool_calls,
        tool_call_id=message.tool_call_id,
        name=message.name,
        created_at=message.created_at,
    )


def _find_place(message: Message) -> int:
    """Return how many replies are served before a waiting one, 0 for any other message."""
    if message.state != MessageState.STREAMING:
        return 0
    live = hub.snapshot(str(message.conversation_id))
    return max(0, live.get("before", 0)) if live and live["reply"] == str(message.pk) else 0


@of_conversation.get("/{conversation_id}/messages", response=HistoryOut)
def list_messages(
    request: ApiRequest,
    conversation_id: UUID,
    after: Annotated[int, Query(ge=0, le=2**31 - 1, description="The `place` to begin after.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE)] = MAX_PAGE_SIZE,
) -> HistoryOut:
    """List the messages of a conversation, the oldest first, packed ones too."""
    found = own_conversation(request, conversation_id)
    rows = Message.objects.filter(conversation=found, seq__gt=after).current_branch()
    places = list(rows.values_list("seq", flat=True)[: limit + 1])
    shown = load_contents(rows.filter(seq__in=places[:limit]).load_undamaged())
    following = None
    if len(places) > limit:
        here = reverse("rest:list_messages", args=[found.pk])
        following = f"{here}?after={places[limit - 1]}&limit={limit}"
    return HistoryOut(items=[build_message(m) for m in shown], next=following)


@of_conversation.get("/{conversation_id}/messages/recent", response=RecentOut)
def recent_messages(
    request: ApiRequest,
    conversation_id: UUID,
    max_tokens: Annotated[int, Query(ge=1, le=1_000_000)] = 4096,
) -> RecentOut:
    """List the newest messages within a number of tokens; a tool call and its results are kept together."""
    found = own_conversation(request, conversation_id)
    count = select_counter()
    newest = LoadedEnd(readable_messages(found), max_tokens, count.of).select(max_tokens)
    return RecentOut(
        items=[build_message(row) for row, _ in newest],
        tokens=sum(count.of(message) for _, message in newest),
        counted_by=count.name,
        exact=count.exact,
    )


@router.get("/{message_id}", response=MessageOut)
def get_message(request: ApiRequest, message_id: UUID, wait: Wait = 0) -> Any:
    """Return one message; `wait` is how many seconds to wait for the end of a running reply."""
    found = own_message(request, message_id)
    if found.state != MessageState.STREAMING or not wait:
        return build_message(*load_contents([found]))

    def build() -> HttpResponse:
        return render(build_message(*load_contents([own_message(request, message_id)])))

    return render_later(request, partial(generation.wait_end, found.pk, wait), build)


@router.patch("/{message_id}", response=MessageOut)
def flag_message(request: ApiRequest, message_id: UUID, body: MessagePatch) -> MessageOut:
    """Mark a message as important or not; a marked one stays in the prompt as long as possible.

    Setting it to false also overrules a high score.
    """
    message_edits.flag_message(own_message(request, message_id), body.flagged)
    return build_message(*load_contents([own_message(request, message_id)]))


@router.post("/{message_id}/stop", response=MessageOut)
def stop_reply(request: ApiRequest, message_id: UUID) -> MessageOut:
    """Stop a reply at once; its text so far stays."""
    generation.stop(own_message(request, message_id).pk, timeout=_STOPPING_SECONDS)
    return build_message(*load_contents([own_message(request, message_id)]))
