"""Asks the server: `/v1` for replies as they are written, `/api` for the rest."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import httpx2
from django.utils.translation import gettext as _

# A long prompt may be read for minutes; the server says every ten seconds that it is still at it.
_TIMEOUT = httpx2.Timeout(10.0, read=60.0)


class Said(Exception):
    """The server refused something; the text is its sentence."""


class Gone(Said):
    """What was asked for is not there any more."""


class Client:
    """One owner's door to the server; every method blocks, and raises Said with a sentence."""

    def __init__(self, address: str, secret: str, transport: httpx2.BaseTransport | None = None) -> None:
        headers = {"Authorization": f"Bearer {secret}"}
        self._http = httpx2.Client(base_url=address, headers=headers, timeout=_TIMEOUT, transport=transport)

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """Return what is at an address below `/api/`."""
        # An empty query would take away the one that the address has.
        return self._told(lambda: self._http.get(f"/api/{path}", params=query or None))

    def post(self, path: str, **body: Any) -> Any:
        """Do something."""
        return self._told(lambda: self._http.post(f"/api/{path}", json=body))

    def delete(self, path: str, **query: Any) -> Any:
        """Delete something."""
        return self._told(lambda: self._http.delete(f"/api/{path}", params=query or None))

    def model(self) -> str:
        """Return the name of the model, "" where there is none."""
        there = self._told(lambda: self._http.get("/v1/models"))["data"]
        return str(there[0]["id"]) if there else ""

    def ask(self, text: str, where: dict[str, str]) -> Generator[tuple[str, str], None, None]:
        """Yield the conversation's id with each piece of a reply; closing the iteration stops the reply."""
        said = {"messages": [{"role": "user", "content": text}], "stream": True, "metadata": where}
        try:
            with self._http.stream("POST", "/v1/chat/completions", json=said) as response:
                if response.status_code >= 400:
                    response.read()
                    raise _refusal(response)
                for event in httpx2.EventSource(response):
                    if event.data == "[DONE]":
                        return
                    yield from _pieces(event.json())
        except httpx2.TransportError as problem:
            raise Said(_lost(problem)) from problem

    def _told(self, ask: Any) -> Any:
        try:
            response = ask()
        except httpx2.TransportError as problem:
            raise Said(_lost(problem)) from problem
        if response.status_code >= 400:
            raise _refusal(response)
        return response.json()


def _pieces(chunk: Any) -> Iterator[tuple[str, str]]:
    if "error" in chunk:
        raise Said(chunk["error"]["message"])
    for choice in chunk["choices"]:
        yield chunk["conversation"], choice["delta"].get("content") or ""


def _refusal(response: httpx2.Response) -> Said:
    try:
        body = response.json()
        sentence = body["error"]["message"] if "error" in body else body["detail"]
    except (ValueError, KeyError, TypeError):
        sentence = _("The server answered with %d.") % response.status_code
    return (Gone if response.status_code == 404 else Said)(sentence)


def _lost(problem: Exception) -> str:
    if isinstance(problem, httpx2.ConnectError):
        return _("memoryapp was closed. What you wrote before is saved; start the chat again.")
    return _("The connection to memoryapp was lost. What was written so far is saved.")
