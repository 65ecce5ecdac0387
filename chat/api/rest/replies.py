"""Sending: a message and its reply, the last reply written anew, and a message in other words."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from ninja import Schema
from ninja.responses import Status
from pydantic import Field, model_validator

from chat.actions import branches
from chat.actions import messages as actions
from chat.actions.idempotency import Made
from chat.generation import run as generation
from chat.llm.registry import registry
from chat.llm.state import ModelState
from chat.llm.types import ModelNotReady
from chat.models import Message, MessageState, Role
from chat.models.message import MessageQuerySet
from chat.topics.contents import with_contents
from chat.views import spoken
from chat.views.scope import own_conversation, own_message

from .common import Body, Flag, IdempotencyKey, Request, create, located, responses, still_there
from .messages import MessageOut, Wait, message_out, of_conversation, router

__all__ = ["of_conversation", "router"]

# Seconds; long enough for most replies of a small model, and short enough for any client's patience.
_PATIENCE = 30


class MessageIn(Body):
    """What is said. A user's message is answered unless `reply` is false; any other is only kept."""

    content: str = Field(min_length=1, max_length=actions.MAX_CHARACTERS)
    role: Role = Role.USER
    reply: Flag | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str = Field(default="", max_length=120)
    name: str = Field(default="", max_length=120)

    @model_validator(mode="after")
    def _only_users_are_answered(self) -> MessageIn:
        if self.reply and self.role != Role.USER:
            raise ValueError("Only a user's message is answered.")
        return self

    @property
    def is_answered(self) -> bool:
        """Whether the model is to answer."""
        return self.role == Role.USER and self.reply is not False


class WordsIn(Body):
    """Other words for a message."""

    content: str = Field(min_length=1, max_length=actions.MAX_CHARACTERS)


class ExchangeOut(Schema):
    """What was said and its reply, which is null where none was asked for."""

    message: MessageOut
    reply: MessageOut | None


@of_conversation.post(
    "/{conversation_id}/messages",
    response={201: ExchangeOut, 202: ExchangeOut},
    openapi_extra=responses(409, 410, 503),
)
def send_message(
    request: Request,
    response: HttpResponse,
    conversation_id: UUID,
    body: MessageIn,
    wait: Wait = _PATIENCE,
    idempotency_key: IdempotencyKey = None,
) -> Status[ExchangeOut]:
    """Say something and get the reply: 201 when it is finished, 202 while it is still being written.

    With 202, `Location` is where the reply is read: `GET` it with `wait` until its state is not `streaming`.
    One reply at a time is written in a conversation. Where no model is ready nothing is saved.
    """
    found = own_conversation(request, conversation_id)
    generation.settle()

    def make() -> Made:
        if not body.is_answered:
            fields = body.model_dump(include={"tool_calls", "tool_call_id", "name"})
            kept = actions.add_message(found, body.role, body.content, **fields)
            return Made([str(kept.pk)])
        _need_model()
        asked, reply = actions.send_message(request.auth, body.content, found)
        return Made([str(asked.pk), str(reply.pk)])

    return _exchange(request, response, create(request, response, idempotency_key, make), wait)


@router.post(
    "/{message_id}/retry",
    response={201: ExchangeOut, 202: ExchangeOut},
    openapi_extra=responses(409, 410, 503),
)
def retry_reply(
    request: Request,
    response: HttpResponse,
    message_id: UUID,
    wait: Wait = _PATIENCE,
    idempotency_key: IdempotencyKey = None,
) -> Status[ExchangeOut]:
    """Write the last reply of a conversation anew; the old text is replaced."""
    found = own_message(request, message_id)
    generation.settle()

    def make() -> Made:
        _need_model()
        reply = branches.retry_reply(found)
        asked = Message.objects.filter(conversation=found.conversation, role=Role.USER, seq__lt=reply.seq)
        return Made([str(pk) for pk in (asked.shown().values_list("pk", flat=True).last(), reply.pk)])

    return _exchange(request, response, create(request, response, idempotency_key, make), wait)


@router.post(
    "/{message_id}/resend",
    response={201: ExchangeOut, 202: ExchangeOut},
    openapi_extra=responses(409, 410, 503),
)
def resend_message(
    request: Request,
    response: HttpResponse,
    message_id: UUID,
    body: WordsIn,
    wait: Wait = _PATIENCE,
    idempotency_key: IdempotencyKey = None,
) -> Status[ExchangeOut]:
    """Send a user's message in other words: it and all after it make way for the new one and its reply."""
    found = own_message(request, message_id)
    generation.settle()

    def make() -> Made:
        _need_model()
        return Made([str(row.pk) for row in branches.resend(found, body.content)])

    return _exchange(request, response, create(request, response, idempotency_key, make), wait)


def _need_model() -> None:
    """Raise ModelNotReady where a reply could not even begin; one that is loading is waited for."""
    status = registry.status()
    if status.state in (ModelState.MISSING, ModelState.FAILED):
        raise ModelNotReady(spoken.said(status.sentence))


def _exchange(request: Request, response: HttpResponse, made: Made, wait: int) -> Status[ExchangeOut]:
    """Begin the reply that was made just now and tell both, the reply as far as it is after a while."""
    mine = _mine(request)
    *_asked, last = made.ids
    located(response, "get_message", last)
    if len(made.ids) == 1:
        return Status(201, ExchangeOut(message=_told(mine, last), reply=None))
    reply = still_there(mine.filter(pk=last))
    if not made.again:
        generation.start(reply)
    elif wait:
        generation.await_begin(reply)
    generation.await_end(last, wait)
    generation.settle()
    exchange = ExchangeOut(message=_told(mine, made.ids[0]), reply=_told(mine, last))
    if exchange.reply is not None and exchange.reply.state == MessageState.STREAMING:
        return Status(202, exchange)
    return Status(201, exchange)


def _told(mine: MessageQuerySet, key: str) -> MessageOut:
    return message_out(still_there(with_contents(mine.filter(pk=key))))


def _mine(request: Request) -> MessageQuerySet:
    rows = Message.objects.for_owner(request.auth).filter(conversation__deletion=None)
    return rows.select_related("conversation__app", "conversation__owner")
