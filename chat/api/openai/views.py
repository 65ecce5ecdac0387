"""The views below `/v1/`. They are async: the event loop only passes on what the reply's thread writes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.urls import path, re_path
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from chat.access import HtmxHttpRequest
from chat.actions import client_history
from chat.api.auth import authenticate
from chat.api.problems import Problem, method, not_found, problem_of_error
from chat.errors import ModelNotReady, Refused
from chat.generation.hub import expect_follower, follow_reply
from chat.llm.registry import registry
from chat.models import MessageState

from . import idempotency, requests, responses
from .requests import PendingReply
from .responses import CompletionResponse

logger = logging.getLogger(__name__)

# Proxies and clients time out while a long prompt is evaluated unless something is sent.
_HEARTBEAT_SECONDS = 10.0
# From the start of a reply until its request follows it: milliseconds, more on a busy machine. Without a
# follower by then the client has disconnected, and the reply is stopped.
_FOLLOW_WITHIN_SECONDS = 10.0


@login_not_required
@csrf_exempt
async def chat_completions(request: HtmxHttpRequest) -> HttpResponseBase:
    """Reply to the messages of a request, in one response or as a stream of events."""
    try:
        pending = await sync_to_async(_begin_reply)(request, asyncio.get_running_loop())
    except Problem as problem:
        return responses.build_error_response(problem)
    except Exception as error:  # every failure is reported in the format of the protocol
        logger.exception("a request at /v1 failed")
        return responses.build_error_response(problem_of_error(error))
    answer = CompletionResponse(pending)
    if pending.stream:
        pieces = _stream_events(pending, answer)
        response: HttpResponseBase = StreamingHttpResponse(pieces, content_type=responses.EVENT_STREAM)
        # Without this header nginx buffers the stream.
        response.headers["X-Accel-Buffering"] = "no"
    else:
        text = "".join(
            [
                piece
                async for piece in follow_reply(pending.run, _HEARTBEAT_SECONDS, pending.retry_window_seconds)
            ]
        )
        await _finish(pending)
        failure = answer.find_failure()
        response = (
            JsonResponse(answer.format_whole(text))
            if failure is None
            else responses.build_error_response(failure)
        )
    for name, value in answer.build_headers().items():
        response.headers[name] = value
    return response


async def _stream_events(pending: PendingReply, answer: CompletionResponse) -> AsyncIterator[str]:
    yield answer.format_chunk({"role": "assistant", "content": ""})
    async for text in follow_reply(pending.run, _HEARTBEAT_SECONDS, pending.retry_window_seconds):
        yield answer.format_chunk({"content": text}) if text else ": still at it\n\n"
    await _finish(pending)
    if (failure := answer.find_failure()) is not None:
        yield responses.format_event(responses.build_error(failure))
        return
    yield answer.format_chunk({}, answer.finish)
    if pending.with_usage:
        yield answer.format_usage()
    yield "data: [DONE]\n\n"


async def _finish(pending: PendingReply) -> None:
    """Record that the client has received the reply; a database error here does not fail the response."""
    try:
        if pending.identity.key:
            await sync_to_async(idempotency.release_retry_key)(pending.identity)
        if pending.conversation.temporary and pending.run.state == MessageState.COMPLETE:
            await sync_to_async(client_history.await_next_request)(pending.conversation.pk)
    except DatabaseError:
        logger.exception("the end of a reply at /v1 could not be noted")


def _begin_reply(request: HtmxHttpRequest, loop: asyncio.AbstractEventLoop) -> PendingReply:
    owner = authenticate(request)
    if request.method != "POST":
        raise method("POST")
    try:
        body = request.body
    except RequestDataTooBig:
        raise Problem("too-large", _("This request is too large.")) from None
    try:
        pending = requests.begin_reply(request, owner, requests.parse_request(body))
    except (Refused, ModelNotReady) as reason:
        raise requests.build_problem(reason) from reason
    expect_follower(pending.run, loop, max(_FOLLOW_WITHIN_SECONDS, pending.retry_window_seconds))
    return pending


@login_not_required
@csrf_exempt
async def list_models(request: HtmxHttpRequest, name: str = "") -> HttpResponse:
    """List the model that memoryapp uses; requests get it whatever model they name."""
    try:
        await sync_to_async(authenticate)(request)
        if request.method not in ("GET", "HEAD"):
            raise method("GET", "HEAD")
        current = registry.status().name
        if name and name != current:
            raise not_found()
    except Problem as problem:
        return responses.build_error_response(problem)
    found = [_describe_model(current)] if current else []
    return JsonResponse(found[0] if name else {"object": "list", "data": found})


def _describe_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "memoryapp"}


@login_not_required
@csrf_exempt
async def not_found_view(request: HtmxHttpRequest) -> HttpResponse:
    """Return an error in OpenAI's format for an unknown path."""
    try:
        await sync_to_async(authenticate)(request)
        raise not_found()
    except Problem as problem:
        return responses.build_error_response(problem)


app_name = "openai"
urlpatterns = [
    path("chat/completions", chat_completions, name="chat_completions"),
    path("models", list_models, name="models"),
    path("models/<path:name>", list_models, name="model"),
    re_path("", not_found_view, name="nowhere"),
]
