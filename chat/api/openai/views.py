"""The addresses below `/v1/`. The event loop only passes on what a reply's own thread writes."""

from __future__ import annotations

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

from chat.actions import borrowed
from chat.actions.messages import Refused
from chat.api.auth import authenticate
from chat.api.outside import of_error
from chat.api.problems import Problem, method, not_found
from chat.generation.following import follow
from chat.llm.registry import registry
from chat.models import MessageState
from chat.views.scope import HtmxHttpRequest

from . import answers, asking, repeats
from .answers import Answer
from .asking import Asked

logger = logging.getLogger(__name__)

# A proxy or a client that hears nothing while a long prompt is read would give up.
_HEARTBEAT_SECONDS = 10.0


@login_not_required
@csrf_exempt
async def chat_completions(request: HtmxHttpRequest) -> HttpResponseBase:
    """Answer what a program says, whole or as it is written."""
    try:
        asked = await sync_to_async(_begin)(request)
    except Problem as problem:
        return answers.refused(problem)
    except Exception as error:  # whatever the bug, a program is told of it in the way of its protocol
        logger.exception("a request at /v1 failed")
        return answers.refused(of_error(error))
    answer = Answer(asked)
    if asked.stream:
        pieces = _streamed(asked, answer)
        response: HttpResponseBase = StreamingHttpResponse(pieces, content_type=answers.EVENTS)
        # Proxies would collect the pieces.
        response.headers["X-Accel-Buffering"] = "no"
    else:
        text = "".join([piece async for piece in follow(asked.run, _HEARTBEAT_SECONDS, asked.returns)])
        await _end(asked)
        failure = answer.failure()
        response = JsonResponse(answer.whole(text)) if failure is None else answers.refused(failure)
    for name, value in answer.headers().items():
        response.headers[name] = value
    return response


async def _streamed(asked: Asked, answer: Answer) -> AsyncIterator[str]:
    yield answer.piece({"role": "assistant", "content": ""})
    async for text in follow(asked.run, _HEARTBEAT_SECONDS, asked.returns):
        yield answer.piece({"content": text}) if text else ": still at it\n\n"
    await _end(asked)
    if (failure := answer.failure()) is not None:
        yield answers.event(answers.error(failure))
        return
    yield answer.piece({}, answer.finish)
    if asked.with_usage:
        yield answer.cost()
    yield "data: [DONE]\n\n"


async def _end(asked: Asked) -> None:
    """Note that a reply came to its end; one that cannot be noted is told all the same."""
    try:
        if asked.saying.key:
            await sync_to_async(repeats.told)(asked.saying)
        if asked.conversation.temporary and asked.run.state == MessageState.COMPLETE:
            await sync_to_async(borrowed.await_more)(asked.conversation.pk)
    except DatabaseError:
        logger.exception("the end of a reply at /v1 could not be noted")


def _begin(request: HtmxHttpRequest) -> Asked:
    owner = authenticate(request)
    if request.method != "POST":
        raise method("POST")
    try:
        body = request.body
    except RequestDataTooBig:
        raise Problem("too-large", _("This request is too large.")) from None
    try:
        return asking.begin(request, owner, asking.read(body))
    except Refused as reason:
        raise asking.refusal(reason) from reason


@login_not_required
@csrf_exempt
async def models(request: HtmxHttpRequest, name: str = "") -> HttpResponse:
    """Tell which model there is: the one that memoryapp uses, whatever a request asks for."""
    try:
        await sync_to_async(authenticate)(request)
        if request.method not in ("GET", "HEAD"):
            raise method("GET", "HEAD")
        there = registry.status().name
        if name and name != there:
            raise not_found()
    except Problem as problem:
        return answers.refused(problem)
    told = [_model(there)] if there else []
    return JsonResponse(told[0] if name else {"object": "list", "data": told})


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "memoryapp"}


@login_not_required
@csrf_exempt
async def nowhere(request: HtmxHttpRequest) -> HttpResponse:
    """Answer where there is nothing, in the way of all the rest."""
    try:
        await sync_to_async(authenticate)(request)
        raise not_found()
    except Problem as problem:
        return answers.refused(problem)


app_name = "openai"
urlpatterns = [
    path("chat/completions", chat_completions, name="chat_completions"),
    path("models", models, name="models"),
    path("models/<path:name>", models, name="model"),
    re_path("", nowhere, name="nowhere"),
]
