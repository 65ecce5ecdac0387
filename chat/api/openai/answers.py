"""Answers at `/v1` in OpenAI's shapes: whole, in pieces, and when something is wrong."""

from __future__ import annotations

import json
import time
from typing import Any

from django.http import HttpResponse

from chat.api.problems import Problem
from chat.llm.types import Usage
from chat.models import MessageState
from chat.views import spoken

from .asking import HEADER, Asked

EVENTS = "text/event-stream; charset=utf-8"
_CODES = {401: "invalid_api_key", 404: "not_found", 409: "conflict", 410: "gone", 503: "model_not_ready"}
_OF_A_KIND = {"key-reused": "idempotency_key_reused", "busy": "busy"}


class Answer:
    """One reply on its way to a program: its id and its time are the same in all its pieces."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._begun = int(time.time())

    def whole(self, text: str) -> dict[str, Any]:
        """Return a finished reply."""
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish}
        return self._about("chat.completion", [choice]) | {"usage": usage(self._asked.run.usage)}

    def piece(self, delta: dict[str, str], finish: str | None = None) -> str:
        """Return one event of a streamed reply."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        more = {"usage": None} if self._asked.with_usage else {}
        return event(self._about("chat.completion.chunk", [choice]) | more)

    def cost(self) -> str:
        """Return the last event where the program asked what the reply cost."""
        return event(self._about("chat.completion.chunk", []) | {"usage": usage(self._asked.run.usage)})

    @property
    def finish(self) -> str:
        """Why the text ended: "length" where there was no more room, else "stop"."""
        return "length" if self._asked.run.finish == "length" else "stop"

    def failure(self) -> Problem | None:
        """Return what kept the reply from its end, None where nothing did: half of one is no whole one."""
        run = self._asked.run
        if run.state == MessageState.COMPLETE:
            return None
        # What was said is saved: to send it once more would say it twice.
        kind = "no-model" if run.unready else "broken"
        return Problem(kind, spoken.said(run.failure), headers={"x-should-retry": "false"})

    def headers(self) -> dict[str, str]:
        """Return what tells a program where its words have gone."""
        again = {"Idempotency-Replayed": "true"} if self._asked.saying.again else {}
        return {f"{HEADER}Conversation": str(self._asked.conversation.pk)} | again

    def _about(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self._asked.run.reply}",
            "object": kind,
            "created": self._begun,
            "model": self._asked.model,
            "choices": choices,
            # Ours alone; programs that do not know it pass it over.
            "conversation": str(self._asked.conversation.pk),
        }


def usage(spent: Usage) -> dict[str, Any]:
    """Return what a reply cost in tokens, and how many of them the model had read before."""
    return {
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
        "total_tokens": spent.prompt_tokens + spent.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": spent.cached_tokens},
    }


def event(data: Any) -> str:
    """Return one server-sent event."""
    return f"data: {json.dumps(data, ensure_ascii=False, separators=(',', ':'))}\n\n"


def error(problem: Problem) -> dict[str, Any]:
    """Return a problem as OpenAI's programs read it; `param` is where in the body the fault is."""
    places = problem.errors[0].loc if problem.errors else []
    return {
        "error": {
            "message": problem.detail,
            "type": "server_error" if problem.status >= 500 else "invalid_request_error",
            "param": ".".join(map(str, places)) or None,
            "code": _OF_A_KIND.get(problem.kind) or _CODES.get(problem.status),
        }
    }


def refused(problem: Problem) -> HttpResponse:
    """Return the answer to a request that was refused; what is not right in a body is a 400 here."""
    response = problem.response()
    if response.status_code == 422:
        response.status_code = 400
    response.content = json.dumps(error(problem), ensure_ascii=False).encode()
    response.headers["Content-Type"] = "application/json"
    return response
