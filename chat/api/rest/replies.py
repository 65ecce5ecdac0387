"""Sending a message with its reply, retrying the last reply, and resending an edited message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from ninja import Schema
from ninja.responses import Status
from pydantic import Field, model_validator

from chat.access import messages_of, own_conversation, own_message
from chat.actions import message_edits
from chat.actions import messages as actions
from chat.generation import run as generation
from chat.generation.run import begin_exchange, require_model
from chat.models import Message, MessageState, Role
from chat.models.message import MessageQuerySet
from chat.topics.contents import load_contents

from .common import (
    ApiRequest,
    Body,
    Flag,
    IdempotencyKey,
    mark_replayed,
    problem_responses,
    render,
    render_later,
    request_key,
    require_row,
    set_location,
)
from .deletions import DeletionOut, build_deletion, find_pending_deletion
from .messages import MessageOut, Wait, build_message, of_conversation, router

__all__ = ["of_conversation", "router"]

# Long enough for most replies of a small model, and shorter than the timeouts of HTTP clients.
_DEFAULT_WAIT_SECONDS = 30


class MessageIn(Body):
    """A message to send. A user's message gets a reply unless `reply` is false; others are only stored.

    Only a message that calls tools and the result of a tool may be without text.
    """

    content: str | None = Field(default=None, max_length=actions.MAX_CHARACTERS)
    role: Role = Role.USER
    reply: Flag | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str = Field(default="", max_length=120)
    name: str = Field(default="", max_length=120)

    @model_validator(mode="after")
    def _only_tools_need_no_text(self) -> MessageIn:
        calls_tools = self.role == Role.ASSISTANT and self.tool_calls
        if not (self.content or calls_tools or self.role == Role.TOOL):
            raise ValueError("A message needs a text, unless it calls a tool or is the result of one.")
        return self

    @model_validator(mode="after")
    def _only_users_are_answered(self) -> MessageIn:
        if self.reply and self.role != Role.USER:
            raise ValueError("Only a user's message is answered.")
        return self

    @property
    def text(self) -> str:
        """Return the text, "" without one."""
        return self.content or ""

    @property
    def is_answered(self) -> bool:
        """Return whether the model replies to it."""
        return self.role == Role.USER and self.reply is not False


class WordsIn(Body):
    """A new text for a message."""

    content: str = Field(min_length=1, max_length=actions.MAX_CHARACTERS)


class ExchangeOut(Schema):
    """A message and its reply; the reply is null where none was requested."""

    message: MessageOut
    reply: MessageOut | None
    deletion: DeletionOut | None = Field(
        default=None, description="What memory took back because the message was edited, with its undo."
    )


@of_conversation.post(
    "/{conversation_id}/messages",
    response={201: ExchangeOut, 202: ExchangeOut},
    openapi_extra=problem_responses(409, 410, 429, 503),
)
def send_message(
    request: ApiRequest,
    response: HttpResponse,
    conversation_id: UUID,
    body: MessageIn,
    wait: Wait = _DEFAULT_WAIT_SECONDS,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Send a message and get the reply: 201 when it is finished, 202 while it is still being written.

    With 202, `Location` is the address of the reply: `GET` it with `wait` until its state is not `streaming`.
    A conversation has one running reply at a time. Where no model is available nothing is saved.
    """
    found = own_conversation(request, conversation_id)

    def save() -> Sequence[Message]:
        if not body.is_answered:
            fields = body.model_dump(include={"tool_calls", "tool_call_id", "name"}) | {"by_program": True}
            return [actions.add_message(found, body.role, body.text, **fields)]
        require_model()
        return actions.send_message(request.auth, body.text, found, by_program=True)

    return _exchange(request, response, save, idempotency_key, wait, is_answered=body.is_answered)


@router.post(
    "/{message_id}/retry",
    response={201: ExchangeOut, 202: ExchangeOut},
    openapi_extra=problem_responses(409, 410, 429, 503),
)
def retry_reply(
    request: ApiRequest,
    response: HttpResponse,
    message_id: UUID,
    wait: Wait = _DEFAULT_WAIT_SECONDS,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Replace the last reply of a conversation by a new one."""
    found = own_message(request, message_id)

    def save() -> Sequence[Message]:
        require_model()
        reply = message_edits.retry_reply(found)
        asked = Message.objects.filter(conversation=found.conversation, role=Role.USER, seq__lt=reply.seq)
        return [*asked.current_branch().order_by("-seq")[:1], reply]

    return _exchange(request, response, save, idempotency_key, wait)


@router.post(
    "/{message_id}/resend",
    response={201: ExchangeOut, 202: ExchangeOut},
    openapi_extra=problem_responses(409, 410, 429, 503),
)
def resend_message(
    request: ApiRequest,
    response: HttpResponse,
    message_id: UUID,
    body: WordsIn,
    wait: Wait = _DEFAULT_WAIT_SECONDS,
    idempotency_key: IdempotencyKey = None,
) -> Any:
    """Send an edited user's message: it replaces the old one and all messages after it.

    Memory takes back what only the replaced messages taught; `deletion` has its undo.
    """
    found = own_message(request, message_id)

    def save() -> Sequence[Message]:
        require_model()
        return message_edits.resend_message(found, body.content, by_program=True)

    return _exchange(request, response, save, idempotency_key, wait)


def _exchange(
    request: ApiRequest,
    response: HttpResponse,
    save: Callable[[], Sequence[Message]],
    key: str | None,
    wait: int,
    *,
    is_answered: bool = True,
) -> Any:
    """Send, and return the message and its reply as it is after at most `wait` seconds."""
    begun = begin_exchange(request.auth, save, key=request_key(request, key), is_answered=is_answered)
    mark_replayed(response, begun.repeated)
    rows = messages_of(request.auth)
    first, last = begun.keys[0], begun.keys[-1]
    set_location(response, "get_message", last)
    if first == last:
        return Status(201, ExchangeOut(message=_build_stored(rows, last), reply=None))
    if begun.repeated and wait:
        generation.await_begin(require_row(rows.filter(pk=last)))

    def build() -> HttpResponse:
        generation.save_unsaved_ends()
        retracted = find_pending_deletion(request, message=first, retraction__isnull=False)
        reply = _build_stored(rows, last)
        exchange = ExchangeOut(
            message=_build_stored(rows, first),
            reply=reply,
            deletion=build_deletion(retracted) if retracted else None,
        )
        return render(exchange, 202 if reply.state == MessageState.STREAMING else 201)

    answer = render_later(request, partial(generation.wait_end, last, wait), build)
    for name, value in response.headers.items():
        answer.headers[name] = value
    return answer


def _build_stored(rows: MessageQuerySet, key: str) -> MessageOut:
    return build_message(require_row(load_contents(rows.filter(pk=key))))
