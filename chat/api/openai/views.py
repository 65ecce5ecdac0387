"""The views below `/v1/`, and their responses in OpenAI's format: whole, streamed, and errors.

While a reply is being written, the event loop passes on what its thread writes.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.db import DatabaseError
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.urls import path, re_path
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from chat.access import HtmxHttpRequest
from chat.actions import client_history
from chat.api.auth import authenticate
from chat.api.problems import Problem, method, not_found, problem_of_error
from chat.error_messages import describe
from chat.errors import ModelNotReady, Refused
from chat.generation.following import expect_follower, follow_reply
from chat.later_response import find_event_loop, respond_later
from chat.llm.registry import registry
from chat.llm.types import Usage
from chat.models import MessageState

from . import idempotency, requests
from .event_stream import stream_check, stream_events
from .requests import HEADER, PendingReply

_CODES_BY_STATUS = {
    401: "invalid_api_key",
    404: "not_found",
    409: "conflict",
    410: "gone",
    429: "rate_limit_exceeded",
    503: "model_not_ready",
}
_CODES_BY_KIND = {"key-reused": "idempotency_key_reused", "busy": "busy"}


class CompletionResponse:
    """Formats one reply; id and creation time are the same in all chunks. `created` is Unix time."""

    def __init__(self, pending: PendingReply) -> None:
        self._pending = pending
        self._created = int(time.time())

    def format_whole(self, text: str) -> dict[str, Any]:
        """Return a finished reply as one object."""
        message = {"role": "assistant", "content": text, "refusal": None}
        if reasoning := self._pending.run.reasoning.text.strip():
            message["reasoning_content"] = reasoning
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish}
        return self._about("chat.completion", [choice]) | {"usage": build_usage(self._pending.run.usage)}

    def format_chunk(self, delta: dict[str, str], finish: str | None = None) -> str:
        """Return one server-sent event of a streamed reply."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        more = {"usage": None} if self._pending.with_usage else {}
        return format_event(self._about("chat.completion.chunk", [choice]) | more)

    def format_usage(self) -> str:
        """Return the event with the usage, which the client requested by `stream_options`."""
        return format_event(
            self._about("chat.completion.chunk", []) | {"usage": build_usage(self._pending.run.usage)}
        )

    @property
    def finish(self) -> str:
        """Return why the text ended: "length" where the token limit was reached, else "stop"."""
        return "length" if self._pending.run.finish == "length" else "stop"

    def find_failure(self) -> Problem | None:
        """Return the problem that stopped the reply before its end; None for a complete reply."""
        run = self._pending.run
        if run.state == MessageState.COMPLETE:
            return None
        # The user's message is saved already: an automatic retry would save it twice.
        headers = {"x-should-retry": "false"}
        if run.waited_too_long:
            return Problem("busy", describe(run.failure), headers=headers | {"Retry-After": "60"})
        kind = "no-model" if run.model_missing else "broken"
        return Problem(kind, describe(run.failure), headers=headers)

    def build_headers(self) -> dict[str, str]:
        """Return the headers with the conversation and whether the response is a repetition."""
        again = {"Idempotency-Replayed": "true"} if self._pending.identity.again else {}
        return {f"{HEADER}Conversation": str(self._pending.conversation.pk)} | again

    def _about(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self._pending.run.reply}",
            "object": kind,
            "created": self._created,
            "model": self._pending.model,
            "choices": choices,
            # Not part of OpenAI's format; clients ignore unknown members.
            "conversation": str(self._pending.conversation.pk),
        }


def build_usage(spent: Usage) -> dict[str, Any]:
    """Return the tokens of a reply, with the prompt tokens that came from the cache."""
    return {
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "total_tokens": spent.prompt_tokens + spent.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": spent.cached_tokens},
    }


def format_event(data: Any) -> str:
    """Return one server-sent event."""
    return f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"


def build_error(problem: Problem) -> dict[str, Any]:
    """Return a problem in OpenAI's format; `param` is the place of the fault in the body."""
    places = problem.errors[0].loc if problem.errors else []
    return {
        "error": {
            "message": problem.detail,
            "type": "server_error" if problem.status >= 500 else "invalid_request_error",
            "param": ".".join(map(str, places)) or None,
            "code": _CODES_BY_KIND.get(problem.kind) or _CODES_BY_STATUS.get(problem.status),
        }
    }


def build_error_response(problem: Problem) -> HttpResponse:
    """Return the response for a problem; OpenAI's clients expect 400 instead of 422."""
    response = problem.response()
    if response.status_code == 422:
        response.status_code = 400
    response.content = json.dumps(build_error(problem), ensure_ascii=False).encode()
    response.headers["Content-Type"] = "application/json"
    return response


logger = logging.getLogger(__name__)

# Proxies and clients time out while a long prompt is evaluated unless something is sent.
_HEARTBEAT_SECONDS = 10.0
# From the start of a reply until its request follows it: milliseconds, more on a busy machine. Without a
# follower by then the client has disconnected, and the reply is stopped.
_FOLLOW_WITHIN_SECONDS = 10.0


@login_not_required
@csrf_exempt
def chat_completions(request: HtmxHttpRequest) -> HttpResponseBase:
    """Reply to the messages of a request, in one response or as a stream of events."""
    try:
        pending = _begin_reply(request)
    except Problem as problem:
        return build_error_response(problem)
    except Exception as error:  # every failure is reported in the format of the protocol
        logger.exception("a request at /v1 failed")
        return build_error_response(problem_of_error(error))
    answer = CompletionResponse(pending)
    response: HttpResponseBase
    if pending.stream:
        response = stream_events(_stream_reply(pending, answer))
    else:
        response = respond_later(request, partial(_respond_whole, pending, answer))
    for name, value in answer.build_headers().items():
        response.headers[name] = value
    return response


async def _respond_whole(pending: PendingReply, answer: CompletionResponse) -> HttpResponse:
    pieces = [piece async for piece in _follow(pending)]
    await _finish(pending)
    failure = answer.find_failure()
    return (
        JsonResponse(answer.format_whole("".join(pieces)))
        if failure is None
        else build_error_response(failure)
    )


def _follow(pending: PendingReply) -> AsyncIterator[str]:
    return follow_reply(pending.run, _HEARTBEAT_SECONDS, pending.retry_window_seconds)


async def _stream_reply(pending: PendingReply, answer: CompletionResponse) -> AsyncIterator[str]:
    yield answer.format_chunk({"role": "assistant", "content": ""})
    reasoned, has_begun = 0, False
    async for text in _follow(pending):
        # Reasoning is sent before the text. That of a reply that another process writes is known only at the
        # reply's end, so a stream leaves it out.
        if (new := pending.run.reasoning.text[reasoned:]) and not has_begun:
            reasoned += len(new)
            yield answer.format_chunk({"reasoning_content": new})
        has_begun = has_begun or bool(text)
        yield answer.format_chunk({"content": text}) if text else ": still at it\n\n"
    await _finish(pending)
    if (failure := answer.find_failure()) is not None:
        yield format_event(build_error(failure))
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


def _begin_reply(request: HtmxHttpRequest) -> PendingReply:
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
    if (loop := find_event_loop(request)) is not None:
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
        return build_error_response(problem)
    found = [_describe_model(current)] if current else []
    return JsonResponse(found[0] if name else {"object": "list", "data": found})


def _describe_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "memoryapp"}


@login_not_required
@csrf_exempt
def check_stream(request: HtmxHttpRequest) -> HttpResponseBase:
    """Send a few lines slowly, for whoever checks a proxy; without a token."""
    try:
        return stream_check.respond(request)
    except Problem as problem:
        return build_error_response(problem)


@login_not_required
@csrf_exempt
async def not_found_view(request: HtmxHttpRequest) -> HttpResponse:
    """Return an error in OpenAI's format for an unknown path."""
    try:
        await sync_to_async(authenticate)(request)
        raise not_found()
    except Problem as problem:
        return build_error_response(problem)


app_name = "openai"
urlpatterns = [
    path("chat/completions", chat_completions, name="chat_completions"),
    path("models", list_models, name="models"),
    path("models/<path:name>", list_models, name="model"),
    path("stream-check", check_stream, name="stream_check"),
    re_path("", not_found_view, name="nowhere"),
]
