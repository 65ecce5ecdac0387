"""Turns failures of a model server into exceptions: broken connections, HTTP statuses and error events."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Iterator
from typing import Any

import httpx2

from chat.errors import (
    ConnectionLost,
    PromptTooLong,
    ProviderError,
    Reason,
    ServerAway,
    ServerBusy,
    ServerRefused,
)

# OpenSSL's reasons for a server that does not speak TLS.
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")
# "model", but not the path /models, which a web server repeats in its 404 page.
_NAMES_MODEL = re.compile(r"\bmodel(?!s)", re.I)


# Reasons whose sentence says that the message is saved, and the ones to use where there is no message.
_WITHOUT_MESSAGE = {
    "server-unreachable": "server-unreachable-no-message",
    "server-silent": "server-silent-no-message",
}


def without_message(problem: ProviderError) -> Reason:
    """Return the reason of an error for a user who has sent no message."""
    return Reason(_WITHOUT_MESSAGE.get(problem.code, problem.code), problem.reason.params)


def from_transport_error(error: Exception, *, begun: bool) -> ProviderError:
    """Return the exception for a failed connection; `begun` if a part of the answer had arrived."""
    if begun:
        return ConnectionLost()
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ProviderError("server-certificate-untrusted")
        if isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS:
            return ProviderError("server-without-tls")
    if isinstance(error, TimeoutError | httpx2.ReadTimeout):
        return ServerAway("server-silent")
    return ServerAway("server-unreachable")


def from_response(status: int, body: bytes, headers: httpx2.Headers) -> ProviderError | None:
    """Return the exception for a response that reports an error, None for a successful one."""
    if 200 <= status < 300:
        return None
    if 300 <= status < 400:
        return ProviderError("server-moved")
    if status in (401, 403):
        return ProviderError("server-key-refused")
    text = _decode_body(body)
    if status == 402 or (status == 429 and "insufficient_quota" in text):
        return ProviderError("server-no-credit")
    if status == 429:
        return ServerBusy("server-busy", _parse_seconds(headers.get("retry-after")))
    if status == 503:
        return ServerBusy(
            "server-loading" if "loading" in text.lower() else "server-busy",
            _parse_seconds(headers.get("retry-after")),
        )
    if status in (502, 504, 520, 521, 522, 523, 524, 530):
        return ServerAway("server-unreachable")
    if _is_too_long(text):
        return PromptTooLong("conversation-too-long")
    if status == 404 and _NAMES_MODEL.search(text):
        return ProviderError("server-model-unknown")
    return ServerRefused(status, text)


def from_event(event: dict[str, Any], *, begun: bool, is_error: bool = False) -> ProviderError | None:
    """Return the exception for an event that reports an error, None for any other event.

    `is_error` if the event's type is "error"; `begun` if a part of the answer had arrived.
    """
    error = event.get("error") or (event if is_error or event.get("object") == "error" else None)
    if not error:
        return None
    text = json.dumps(error)
    if _is_too_long(text):
        return PromptTooLong("conversation-too-long")
    if begun:
        # Not ConnectionLost: the server is reachable, so the provider need not connect again.
        return ProviderError("server-connection-lost")
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    return from_response(status, text.encode(), httpx2.Headers())


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes, at most ten."""
    found: BaseException | None = error
    for _ in range(10):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__


def _decode_body(body: bytes) -> str:
    return body[:2000].decode(errors="replace")


def _is_too_long(text: str) -> bool:
    """Recognise the messages of llama-server, OpenAI and vLLM for a prompt that exceeds the window."""
    signs = (
        "exceed_context_size",
        "exceeds the available context",
        "context_length",
        "maximum context length",
    )
    return any(sign in text for sign in signs)


def _parse_seconds(text: str | None) -> float:
    try:
        return max(0.0, float(text or 0))
    except ValueError:
        return 0.0
