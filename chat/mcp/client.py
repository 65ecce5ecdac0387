"""The REST API of the running server, as the tools ask it; what goes wrong comes back as a sentence."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import anyio.to_thread
import httpx2
from mcp.server.mcpserver.exceptions import ToolError

from .access import LOGIN, NOT_RUNNING, REVOKED, Access, NoAccess

# Seconds. A search may wait for a machine that is busy with a reply; a server that is there accepts at once.
_PATIENCE = httpx2.Timeout(60, connect=5)
_NOT_OURS = "What answers at {} with status {} is not memoryapp. Ask the user to look at the address."
_MOVED = "memoryapp is not at {}: that leads on to {}. Ask the user to name that address as MEMORYAPP_URL."


class Problem(ToolError):
    """The server's answer was a refusal with this status."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Client:
    """Asks with the owner's token. Use it as an asynchronous context manager, in one event loop."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._http = httpx2.AsyncClient(
            timeout=_PATIENCE,
            # No proxy may come between two programs of one machine.
            trust_env=access.elsewhere,
            # The server may go and come back at another port between two calls.
            limits=httpx2.Limits(max_keepalive_connections=0),
        )

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.aclose()

    async def get(self, path: str, **params: str | int) -> Any:
        """Read what stands at an address below /api. Raises ToolError with a sentence."""
        return (await self._ask("GET", path, repeatable=True, params=params))[1]

    async def create(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Create something once, whatever breaks meanwhile; returns status and content. Raises ToolError."""
        key = {"Idempotency-Key": uuid4().hex}
        return await self._ask("POST", path, repeatable=True, json=body, headers=key)

    async def change(self, method: str, path: str) -> Any:
        """Change or delete something; returns the content. Raises ToolError.

        Only a DELETE is repeated by itself where the connection broke: it tells the same undo again.
        """
        return (await self._ask(method, path, repeatable=method == "DELETE"))[1]

    async def _ask(self, method: str, path: str, *, repeatable: bool, **request: Any) -> tuple[int, Any]:
        try:
            try:
                answer = await self._send(method, path, **request)
            except httpx2.TransportError as error:
                if not repeatable or isinstance(error, httpx2.TimeoutException):
                    raise
                # It may have been restarted in the middle of this.
                answer = await self._send(method, path, **request)
            if answer.status_code == 401 and self._access.refused():
                answer = await self._send(method, path, **request)
        except httpx2.HTTPError as error:
            raise ToolError(_lost(error)) from error
        return answer.status_code, _content(answer)

    async def _send(self, method: str, path: str, **request: Any) -> httpx2.Response:
        try:
            address = await anyio.to_thread.run_sync(self._access.address)
            # A token is made for a server that lets this machine's owner in as it is, and for no other.
            if not self._access.has_token and (await self._http.get(address)).status_code != 200:
                raise NoAccess(LOGIN)
            token = await anyio.to_thread.run_sync(self._access.token)
        except NoAccess as reason:
            raise ToolError(str(reason)) from reason
        headers = {"Authorization": f"Bearer {token}", **request.pop("headers", {})}
        return await self._http.request(method, f"{address}/api/{path}", headers=headers, **request)


def _content(answer: httpx2.Response) -> Any:
    """Return what an answer says; raises Problem where it is a refusal."""
    try:
        told = answer.json()
    except ValueError:
        told = None
    if answer.is_success and told is not None:
        return told
    if answer.status_code == 401:
        raise Problem(REVOKED, 401)
    if answer.is_redirect:
        raise Problem(_MOVED.format(answer.url.host, answer.headers.get("Location", "")), 301)
    if not isinstance(told, dict) or not isinstance(told.get("detail"), str):
        raise Problem(_NOT_OURS.format(answer.url.host, answer.status_code), answer.status_code)
    # Those say more than that there are some.
    errors = [one["detail"] for one in told.get("errors") or []]
    raise Problem(" ".join(errors) or told["detail"], answer.status_code)


def _lost(error: httpx2.HTTPError) -> str:
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return NOT_RUNNING
    if isinstance(error, httpx2.TimeoutException):
        return (
            "memoryapp did not answer in time. Look with list_memories whether it was done; then try again."
        )
    return "The connection to memoryapp broke. Look with list_memories whether it was done; then try again."
