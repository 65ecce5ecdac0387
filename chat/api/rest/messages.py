"""Messages: the history of a conversation, sending with its reply, and what becomes of a reply."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.urls import reverse
from ninja import Query, Router, Schema
from pydantic import Field

from chat.actions import branches
from chat.api.counting import counter
from chat.api.recent import newest_that_fit
from chat.api.sessions import as_messages, said
from chat.generation import run as generation
from chat.models import Message, MessageState, Role
from chat.topics.contents import with_contents
from chat.views import spoken
from chat.views.scope import own_conversation, own_message

from .common import MOST, Body, Flag, Request

router = Router(tags=["messages"])
of_conversation = Router(tags=["messages"])
_LONGEST_WAIT = 120  # seconds
_STOPPING_SECONDS = 2.0

Wait = Annotated[
    int,
    Query(ge=0, le=_LONGEST_WAIT, description="Seconds to wait for the end of a reply."),
]


class MessageOut(Schema):
    """One message; `place` orders it. A reply is `streaming` until it is complete, stopped or failed."""

    id: UUID
    conversation: UUID
    place: int
    role: Role
    content: str
    state: MessageState
    failure: str = Field(description="Why a reply stopped or failed.")
    flagged: bool
    topic: UUID | None
    tool_calls: list[dict[str, Any]] | None
    tool_call_id: str
    name: str
    created_at: datetime


class HistoryOut(Schema):
    """A part of a conversation in time order; `next` is where the rest begins."""

    items: list[MessageOut]
    next: str | None


class RecentOut(Schema):
    """The newest messages that fit, in time order, and by what they were counted."""

    items: list[MessageOut]
    tokens: int
    counted_by: str
    exact: bool = Field(description="Whether a model's tokenizer counted, and not a rule of thumb.")


class MessagePatch(Body):
    """What is to change: whether the message is marked as important."""

    flagged: Flag


def message_out(message: Message) -> MessageOut:
    """Tell a message with its contents unpacked."""
    return MessageOut(
        id=message.pk,
        conversation=message.conversation_id,
        place=message.seq,
        role=Role(message.role),
        content=message.content,
        state=MessageState(message.state),
        failure=spoken.said(message.failure),
        flagged=message.flagged,
        topic=message.topic_id,
        tool_calls=message.tool_calls,
        tool_call_id=message.tool_call_id,
        name=message.name,
        created_at=message.created_at,
    )


@of_conversation.get("/{conversation_id}/messages", response=HistoryOut)
def list_messages(
    request: Request,
    conversation_id: UUID,
    after: Annotated[int, Query(ge=0, le=2**31 - 1, description="The `place` to begin after.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST)] = MOST,
) -> HistoryOut:
    """Tell all that was said, the oldest first, packed messages too; nothing is unpacked by reading it."""
    found = own_conversation(request, conversation_id)
    generation.settle()
    rows = Message.objects.filter(conversation=found, seq__gt=after).shown()
    places = list(rows.values_list("seq", flat=True)[: limit + 1])
    shown = with_contents(rows.filter(seq__in=places[:limit]).readable())
    rest = None
    if len(places) > limit:
        here = reverse("rest:list_messages", args=[found.pk])
        rest = f"{here}?after={places[limit - 1]}&limit={limit}"
    return HistoryOut(items=[message_out(m) for m in shown], next=rest)


@of_conversation.get("/{conversation_id}/messages/recent", response=RecentOut)
def recent_messages(
    request: Request,
    conversation_id: UUID,
    max_tokens: Annotated[int, Query(ge=1, le=1_000_000)] = 4096,
) -> RecentOut:
    """Tell the newest messages within so many tokens; a call of tools and its results go together."""
    pairs = [(row, m) for row in said(own_conversation(request, conversation_id)) for m in as_messages([row])]
    count = counter()
    fitting = newest_that_fit([m for _row, m in pairs], max_tokens, count.of)
    rows = [row for row, _m in pairs[len(pairs) - len(fitting) :]]
    return RecentOut(
        items=[message_out(row) for row in rows],
        tokens=sum(map(count.of, fitting)),
        counted_by=count.name,
        exact=count.exact,
    )


@router.get("/{message_id}", response=MessageOut)
def get_message(request: Request, message_id: UUID, wait: Wait = 0) -> MessageOut:
    """Tell one message; with `wait`, a reply that is being written once it is finished."""
    found = own_message(request, message_id)
    if found.state == MessageState.STREAMING:
        generation.await_end(found.pk, wait)
        generation.settle()
        found = own_message(request, message_id)
    return message_out(*with_contents([found]))


@router.patch("/{message_id}", response=MessageOut)
def flag_message(request: Request, message_id: UUID, body: MessagePatch) -> MessageOut:
    """Mark a message as important, or not: what is marked stays in the prompt as long as it can."""
    branches.flag(own_message(request, message_id), body.flagged)
    return message_out(*with_contents([own_message(request, message_id)]))


@router.post("/{message_id}/stop", response=MessageOut)
def stop_reply(request: Request, message_id: UUID) -> MessageOut:
    """End a reply at once; its text stays."""
    generation.stop(own_message(request, message_id).pk, patience=_STOPPING_SECONDS)
    generation.settle()
    return message_out(*with_contents([own_message(request, message_id)]))
