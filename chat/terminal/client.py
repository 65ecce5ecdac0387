"""The terminal's HTTP client: `/v1` for streamed replies, `/api` for everything else."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any
from uuid import uuid4

import httpx2
from django.utils.translation import gettext as _

# Seconds. The model may read a long prompt for minutes; the server sends a keep-alive every ten seconds.
_TIMEOUT = httpx2.Timeout(10.0, read=60.0)
_REPLY = "chatcmpl-"  # prefix of a reply's id


class TerminalError(Exception):
    """The server refused a request or cannot be reached; the text is a sentence for the user."""


class NotFound(TerminalError):
    """The requested object does not exist any more (404)."""


class TerminalClient:
    """Sends requests for one owner. All methods block and raise TerminalError.

    `find` returns the server's current address, "" where none runs: a restarted server may have another port.
    """

    def __init__(
        self,
        address: str,
        secret: str,
        *,
        find: Callable[[], str] = str,
        headers: Mapping[str, str] | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._find = find
        sent = {**(headers or {}), "Authorization": f"Bearer {secret}"}
        # No proxy between two programs of one machine: it could read the messages and the token.
        self._http = httpx2.Client(
            base_url=address, headers=sent, timeout=_TIMEOUT, transport=transport, trust_env=False
        )

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """Return the content at a path below `/api/`."""
        # An empty dict would remove the query string that the path may have.
        return self._request("GET", f"/api/{path}", params=query or None)

    def create(self, path: str, **body: Any) -> Any:
        """Send a POST that is safe to repeat (idempotency key); return the content."""
        return self._request("POST", f"/api/{path}", json=body, headers=_idempotency_header())

    def post(self, path: str, **body: Any) -> Any:
        """Send a POST that is not repeated: after a broken connection it is unknown whether it was carried
        out.
        """
        return self._request("POST", f"/api/{path}", repeatable=False, json=body)

    def delete(self, path: str) -> Any:
        """Delete something. A repeated DELETE returns the same pending deletion."""
        return self._request("DELETE", f"/api/{path}")

    def model(self) -> str:
        """Return the name of the model, "" where there is none."""
        there = self._request("GET", "/v1/models")["data"]
        return str(there[0]["id"]) if there else ""

    def ask(self, text: str, where: dict[str, str]) -> Generator[tuple[str, str], None, None]:
        """Send a message; yield the conversation's id with each piece of the reply. Closing the generator
        stops the reply.

        An idempotency key makes sure that the message is stored once. After an interruption the
        conversation's id is still yielded, so that the caller knows where the message is.
        """
        said = {"messages": [{"role": "user", "content": text}], "stream": True, "metadata": where}
        key, reply = _idempotency_header(), ""
        try:
            for chunk in self._chunks(said, key):
                reply = _get_reply_id(chunk)
                yield from _extract_pieces(chunk)
        except GeneratorExit:
            self._stop(reply)
            raise
        except (KeyboardInterrupt, SystemExit):
            if not reply:
                # The server may have stored the message already: a repeated request with the same key returns
                # its reply.
                with closing(self._chunks(said, key)) as again:
                    begun = next(again)
                reply = _get_reply_id(begun)
                yield begun["conversation"], ""
            self._stop(reply)
            raise

    def _stop(self, reply: str) -> None:
        # A reply with an idempotency key goes on after a broken connection, so it is stopped explicitly.
        if reply:
            with suppress(TerminalError):
                self.post(f"messages/{reply.removeprefix(_REPLY)}/stop")

    def _chunks(self, said: dict[str, Any], key: dict[str, str]) -> Generator[Any, None, None]:
        """Yield a reply's events; repeat the request where the connection broke before the first one."""
        for last in (False, True):
            heard = False
            try:
                with self._http.stream("POST", "/v1/chat/completions", json=said, headers=key) as response:
                    if response.status_code != 200:
                        response.read()
                        raise _refusal(response)
                    for event in httpx2.EventSource(response):
                        heard = True
                        if event.data == "[DONE]":
                            return
                        yield event.json()
                raise httpx2.RemoteProtocolError("the reply had no end")
            except (httpx2.HTTPError, ValueError) as problem:
                if heard or last or not self._find_again(problem):
                    raise TerminalError(_describe_failure(problem)) from problem

    def _request(self, method: str, path: str, *, repeatable: bool = True, **request: Any) -> Any:
        try:
            try:
                response = self._http.request(method, path, **request)
            except httpx2.TransportError as problem:
                # A request that could not connect was not carried out.
                if not self._find_again(problem) or not (repeatable or _never_connected(problem)):
                    raise
                response = self._http.request(method, path, **request)
            told = response.json() if response.status_code < 300 else None
        except (httpx2.HTTPError, ValueError) as problem:
            raise TerminalError(_describe_failure(problem)) from problem
        if told is None:
            raise _refusal(response)
        return told

    def _find_again(self, problem: Exception) -> bool:
        """Look for the server's current address; return whether a retry may help."""
        if isinstance(problem, ValueError) or (
            isinstance(problem, httpx2.TimeoutException) and not _never_connected(problem)
        ):
            return False
        before = self._http.base_url
        if found := self._find():
            self._http.base_url = httpx2.URL(found)
        return not _never_connected(problem) or self._http.base_url != before


def _idempotency_header() -> dict[str, str]:
    return {"Idempotency-Key": uuid4().hex}


def _get_reply_id(chunk: Any) -> str:
    return str(chunk.get("id", ""))


def _extract_pieces(chunk: Any) -> Iterator[tuple[str, str]]:
    if "error" in chunk:
        raise TerminalError(chunk["error"]["message"])
    for choice in chunk["choices"]:
        yield chunk["conversation"], choice["delta"].get("content") or ""


def _refusal(response: httpx2.Response) -> TerminalError:
    asked = response.request
    if response.headers.get("location") == f"https://{asked.headers['Host']}{asked.url.raw_path.decode()}":
        return TerminalError(
            _("The server answers over HTTPS only. Add 127.0.0.1 to TRUSTED_PROXIES and restart it.")
        )
    try:
        body = response.json()
        # The single errors say more than the summary in `detail`.
        errors = " ".join(one["detail"] for one in body.get("errors") or [])
        sentence = body["error"]["message"] if "error" in body else errors or body["detail"]
    except (ValueError, KeyError, TypeError, AttributeError):
        sentence = _("The server answered with %d.") % response.status_code
    return (NotFound if response.status_code == 404 else TerminalError)(sentence)


def _never_connected(problem: Exception) -> bool:
    return isinstance(problem, httpx2.ConnectError | httpx2.ConnectTimeout)


def _describe_failure(problem: Exception) -> str:
    if _never_connected(problem):
        return _("memoryapp is not running. Earlier messages are saved. Start it again, then continue here.")
    return _("The connection to memoryapp was lost. The text so far is saved.")
