"""What goes wrong between here and a model's server, in plain sentences."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator
from typing import Any

import httpx2

from chat.llm.types import ModelNotReady, PromptTooLong, ProviderError

AWAY = "Couldn't reach the model. Your message is saved."
SILENT = "The model did not answer in time. Your message is saved."
BROKEN_OFF = "The connection to the model broke off. What had come is kept."
BUSY = "The model's server has too much to do. Try again in a moment."
LOADING = "The model's server is still loading the model."
CLOSED = "The model has been shut down."
UNTRUSTED = "This machine does not trust the certificate of the model's server."
NOT_SECURE = "The model's server does not speak https at this address."
NO_CREDIT = "The account at the model's server has no credit left."
REFUSED_KEY = "The model's server does not accept the key."
NO_SUCH_MODEL = "The model's server has no model of this name."
NO_MODEL = "The model's server lists no model. Load one there, or enter the name of one."
MOVED = "The model's server sends requests on to another address. Enter that address instead."
NO_SENSE = "What is at this address does not answer as a model's server does."
TOO_LONG = "This conversation is longer than the model's window."
NO_ANSWER = "The model used up its room for thinking and gave no reply."


# What OpenSSL says of a server that answers in another tongue.
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")
# Not the path of the list of models, which a web server names when it has no such page.
_OF_A_MODEL = re.compile(r"\bmodel(?!s)", re.I)


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


def told_alone(problem: ProviderError) -> str:
    """Return what went wrong, for somebody who has sent no message."""
    return str(problem).removesuffix(" Your message is saved.")


def of_transport(error: Exception, *, begun: bool) -> ProviderError:
    """Return what a failed connection means; `begun` once text had come."""
    if begun:
        return BrokenOff()
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ProviderError(UNTRUSTED)
        if isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS:
            return ProviderError(NOT_SECURE)
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
    text = _told(body)
    if status == 402 or (status == 429 and "insufficient_quota" in text):
        return ProviderError(NO_CREDIT)
    if status == 429:
        return ServerBusy(BUSY, _seconds(headers.get("retry-after")))
    if status == 503:
        return ServerBusy(
            LOADING if "loading" in text.lower() else BUSY, _seconds(headers.get("retry-after"))
        )
    if status in (502, 504, 520, 521, 522, 523, 524, 530):
        return ServerAway(AWAY)
    if _is_too_long(text):
        return PromptTooLong(TOO_LONG)
    if status == 404 and _OF_A_MODEL.search(text):
        return ProviderError(NO_SUCH_MODEL)
    return Refusal(status, text)


def of_event(event: dict[str, Any], *, begun: bool, is_error: bool = False) -> ProviderError | None:
    """Return what an error means that came in a stream, as an event that says so or is called so; else None.

    `begun` once something of the answer had come.
    """
    error = event.get("error") or (event if is_error or event.get("object") == "error" else None)
    if not error:
        return None
    text = json.dumps(error)
    if _is_too_long(text):
        return PromptTooLong(TOO_LONG)
    if begun:
        return ProviderError(BROKEN_OFF)
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return of_answer(status, text.encode(), httpx2.Headers())


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what led to it."""
    found: BaseException | None = error
    for _ in range(10):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__


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
