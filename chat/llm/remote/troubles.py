"""What goes wrong between here and a model's server, in plain sentences."""

from __future__ import annotations

import json
from typing import Any

import httpx2

from chat.llm.types import ModelNotReady, PromptTooLong, ProviderError

AWAY = "Couldn't reach the model. Your message is saved."
SILENT = "The model did not answer in time. Your message is saved."
BROKEN_OFF = "The connection to the model broke off. What had come is kept."
BUSY = "The model's server has too much to do. Try again in a moment."
LOADING = "The model's server is still loading the model."
REFUSED_KEY = "The model's server does not accept the key."
NO_SUCH_MODEL = "The model's server has no model of this name."
MOVED = "The model's server sends requests on to another address. Enter that address instead."
NO_SENSE = "What is at this address does not answer as a model's server does."
TOO_LONG = "This conversation is longer than the model's window."
NO_ANSWER = "The model used up its room for thinking and gave no reply."


class ServerAway(ModelNotReady):
    """Nobody answers, or not with sense: another try may do, and until then everything waits."""


class ServerBusy(ModelNotReady):
    """The server asks for patience; `after` is for how many seconds, where it says so."""

    def __init__(self, sentence: str, after: float = 0.0) -> None:
        super().__init__(sentence)
        self.after = after


class BrokenOff(ProviderError):
    """The connection was lost in the middle of an answer."""

    def __init__(self) -> None:
        super().__init__(BROKEN_OFF)


class Refusal(ProviderError):
    """The server understood and said no; `text` is what it said, which nobody but the probe reads."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"The model's server refused the request ({status}).")
        self.status = status
        self.text = text


def of_transport(error: Exception, *, begun: bool) -> ProviderError:
    """Return what a failed connection means; `begun` once text had come."""
    if begun:
        return BrokenOff()
    if isinstance(error, TimeoutError | httpx2.ReadTimeout):
        return ServerAway(SILENT)
    return ServerAway(AWAY)


def of_answer(status: int, body: bytes, headers: httpx2.Headers) -> ProviderError | None:
    """Return what an answer means that is not the one that was asked for; None where it is."""
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return ProviderError(MOVED)
    if status in (401, 403):
        return ProviderError(REFUSED_KEY)
    if status == 429:
        return ServerBusy(BUSY, _seconds(headers.get("retry-after")))
    text = _told(body)
    if status == 503:
        return ServerBusy(
            LOADING if "loading" in text.lower() else BUSY, _seconds(headers.get("retry-after"))
        )
    if status in (502, 504, 520, 521, 522, 523, 524, 530):
        return ServerAway(AWAY)
    if _is_too_long(text):
        return PromptTooLong(TOO_LONG)
    if status == 404 and "model" in text.lower():
        return ProviderError(NO_SUCH_MODEL)
    return Refusal(status, text)


def of_event(event: dict[str, Any]) -> ProviderError | None:
    """Return what an error means that came in the middle of a stream; None where the event is none."""
    if "error" not in event:
        return None
    text = json.dumps(event["error"])
    return PromptTooLong(TOO_LONG) if _is_too_long(text) else ProviderError(BROKEN_OFF)


def _told(body: bytes) -> str:
    return body[:2000].decode(errors="replace")


def _is_too_long(text: str) -> bool:
    """Recognise the refusals of llama-server, OpenAI and vLLM."""
    signs = (
        "exceed_context_size",
        "exceeds the available context",
        "context_length",
        "maximum context length",
    )
    return any(sign in text for sign in signs)


def _seconds(text: str | None) -> float:
    try:
        return max(0.0, float(text or 0))
    except ValueError:
        return 0.0
