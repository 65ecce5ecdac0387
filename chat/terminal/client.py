"""Asks the server: `/v1` for replies as they are written, `/api` for the rest."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any
from uuid import uuid4

import httpx2
from django.utils.translation import gettext as _

# A long prompt may be read for minutes; the server says every ten seconds that it is still at it.
_TIMEOUT = httpx2.Timeout(10.0, read=60.0)
_REPLY = "chatcmpl-"  # before a reply's own id


class Said(Exception):
    """The server refused something; the text is its sentence."""


class Gone(Said):
    """What was asked for is not there any more."""


class Client:
    """One owner's door to the server; every method blocks, and raises Said with a sentence.

    `find` returns where the server is by now, "" where none runs: it may come back at another port.
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
        # No proxy may come between two programs of one machine, and read what is said and the token.
        self._http = httpx2.Client(
            base_url=address, headers=sent, timeout=_TIMEOUT, transport=transport, trust_env=False
        )

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """Return what is at an address below `/api/`."""
        # An empty query would take away the one that the address has.
        return self._told("GET", f"/api/{path}", params=query or None)

    def create(self, path: str, **body: Any) -> Any:
        """Make something once, whatever breaks meanwhile."""
        return self._told("POST", f"/api/{path}", json=body, headers=_key())

    def post(self, path: str, **body: Any) -> Any:
        """Do something; where the connection breaks, nobody knows whether it was done."""
        return self._told("POST", f"/api/{path}", repeatable=False, json=body)

    def delete(self, path: str) -> Any:
        """Delete something; said twice it tells the same deletion."""
        return self._told("DELETE", f"/api/{path}")

    def model(self) -> str:
        """Return the name of the model, "" where there is none."""
        there = self._told("GET", "/v1/models")["data"]
        return str(there[0]["id"]) if there else ""

    def ask(self, text: str, where: dict[str, str]) -> Generator[tuple[str, str], None, None]:
        """Yield the conversation's id with each piece of a reply; closing the iteration stops the reply.

        It is said once, whatever breaks meanwhile. Who interrupts it still hears where it was said.
        """
        said = {"messages": [{"role": "user", "content": text}], "stream": True, "metadata": where}
        key, reply = _key(), ""
        try:
            for chunk in self._chunks(said, key):
                reply = _reply_of(chunk)
                yield from _pieces(chunk)
        except GeneratorExit:
            self._stop(reply)
            raise
        except (KeyboardInterrupt, SystemExit):
            if not reply:
                # It may be on its way before anything of it was heard: the same key tells which it is.
                with closing(self._chunks(said, key)) as again:
                    begun = next(again)
                reply = _reply_of(begun)
                yield begun["conversation"], ""
            self._stop(reply)
            raise

    def _stop(self, reply: str) -> None:
        # With a key of its own the server would wait for us to come back; so it is told.
        if reply:
            with suppress(Said):
                self.post(f"messages/{reply.removeprefix(_REPLY)}/stop")

    def _chunks(self, said: dict[str, Any], key: dict[str, str]) -> Generator[Any, None, None]:
        """Yield what the server says; asks again where the connection broke before it has said anything."""
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
                if heard or last or not self._may_help(problem):
                    raise Said(_lost(problem)) from problem

    def _told(self, method: str, path: str, *, repeatable: bool = True, **request: Any) -> Any:
        try:
            try:
                response = self._http.request(method, path, **request)
            except httpx2.TransportError as problem:
                # What could not even be connected has done nothing.
                if not self._may_help(problem) or not (repeatable or _is_unheard(problem)):
                    raise
                response = self._http.request(method, path, **request)
            told = response.json() if response.status_code < 300 else None
        except (httpx2.HTTPError, ValueError) as problem:
            raise Said(_lost(problem)) from problem
        if told is None:
            raise _refusal(response)
        return told

    def _may_help(self, problem: Exception) -> bool:
        """Return whether another try may help, and look where the server is now."""
        if isinstance(problem, ValueError) or (
            isinstance(problem, httpx2.TimeoutException) and not _is_unheard(problem)
        ):
            return False
        before = self._http.base_url
        if found := self._find():
            self._http.base_url = httpx2.URL(found)
        return not _is_unheard(problem) or self._http.base_url != before


def _key() -> dict[str, str]:
    return {"Idempotency-Key": uuid4().hex}


def _reply_of(chunk: Any) -> str:
    return str(chunk.get("id", ""))


def _pieces(chunk: Any) -> Iterator[tuple[str, str]]:
    if "error" in chunk:
        raise Said(chunk["error"]["message"])
    for choice in chunk["choices"]:
        yield chunk["conversation"], choice["delta"].get("content") or ""


def _refusal(response: httpx2.Response) -> Said:
    try:
        body = response.json()
        # Where there are errors, those say more than that there are some.
        errors = " ".join(one["detail"] for one in body.get("errors") or [])
        sentence = body["error"]["message"] if "error" in body else errors or body["detail"]
    except (ValueError, KeyError, TypeError, AttributeError):
        sentence = _("The server answered with %d.") % response.status_code
    return (Gone if response.status_code == 404 else Said)(sentence)


def _is_unheard(problem: Exception) -> bool:
    return isinstance(problem, httpx2.ConnectError | httpx2.ConnectTimeout)


def _lost(problem: Exception) -> str:
    if _is_unheard(problem):
        return _("memoryapp is not running. What you wrote before is saved; start it again and go on here.")
    return _("The connection to memoryapp was lost. What was written so far is saved.")
