"""Responses of `/v1` in OpenAI's format: whole, streamed, and errors."""

from __future__ import annotations

import json
import time
from typing import Any

from django.http import HttpResponse

from chat.api.problems import Problem
from chat.error_messages import describe
from chat.llm.types import Usage
from chat.models import MessageState

from .requests import HEADER, PendingReply

EVENT_STREAM = "text/event-stream; charset=utf-8"
_CODES_BY_STATUS = {
    401: "invalid_api_key",
    404: "not_found",
    409: "conflict",
    410: "gone",
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
        kind = "no-model" if run.model_missing else "broken"
        return Problem(kind, describe(run.failure), headers={"x-should-retry": "false"})

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
