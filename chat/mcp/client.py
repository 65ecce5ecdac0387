"""The tools' client of the REST API; every error is raised as a sentence."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import anyio.to_thread
import httpx2
from mcp.server.mcpserver.exceptions import ToolError

from .access import LOGIN, NOT_RUNNING, REVOKED, Access, NoAccess

# Seconds. A search may wait while the machine is busy with a reply; connecting to a running server is
# immediate.
_PATIENCE = httpx2.Timeout(60, connect=5)
_NOT_OURS = "What answers at {} with status {} is not memoryapp. Ask the user to look at the address."
_MOVED = "memoryapp is not at {}: that leads on to {}. Ask the user to name that address as MEMORYAPP_URL."


class ApiRefusal(ToolError):
    """The server refused a request; `status` is the HTTP status."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class McpClient:
    """Sends requests with the owner's token. Use it as an asynchronous context manager, in one event loop."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._http = httpx2.AsyncClient(
            timeout=_PATIENCE,
            # No proxy between two programs of one machine.
            trust_env=access.is_remote,
            # The server may restart at another port between two calls, so connections are not reused.
            limits=httpx2.Limits(max_keepalive_connections=0),
        )

    async def __aenter__(self) -> McpClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._http.aclose()

    async def get(self, path: str, **params: str | int) -> Any:
        """Return the content at a path below `/api/`. Raises ToolError."""
        return (await self._ask("GET", path, repeatable=True, params=params))[1]

    async def create(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Send a POST that is safe to repeat (idempotency key); return status and content.

        Raises ToolError.
        """
        key = {"Idempotency-Key": uuid4().hex}
        return await self._ask("POST", path, repeatable=True, json=body, headers=key)

    async def change(self, method: str, path: str) -> Any:
        """Send a request that changes or deletes something; return the content. Raises ToolError.

        Only a DELETE is repeated after a broken connection: a second one returns the same pending deletion.
        """
        return (await self._ask(method, path, repeatable=method == "DELETE"))[1]

    async def _ask(self, method: str, path: str, *, repeatable: bool, **request: Any) -> tuple[int, Any]:
        try:
            try:
                answer = await self._send(method, path, **request)
            except httpx2.TransportError as error:
                if not repeatable or isinstance(error, httpx2.TimeoutException):
                    raise
                # The server may have been restarted during the request.
                answer = await self._send(method, path, **request)
            if answer.status_code == 401 and self._access.drop_refused_token():
                answer = await self._send(method, path, **request)
        except httpx2.HTTPError as error:
            raise ToolError(_describe_failure(error)) from error
        return answer.status_code, _parse_content(answer)

    async def _send(self, method: str, path: str, **request: Any) -> httpx2.Response:
        try:
            address = await anyio.to_thread.run_sync(self._access.address)
            # Create a token only for a server that is in local mode: its start page answers without a login.
            if not self._access.has_token and (await self._http.get(address)).status_code != 200:
                raise NoAccess(LOGIN)
            token = await anyio.to_thread.run_sync(self._access.token)
        except NoAccess as reason:
            raise ToolError(str(reason)) from reason
        headers = {"Authorization": f"Bearer {token}", **request.pop("headers", {})}
        return await self._http.request(method, f"{address}/api/{path}", headers=headers, **request)


def _parse_content(answer: httpx2.Response) -> Any:
    """Return the content of a response; raise ApiRefusal where it is an error."""
    try:
        told = answer.json()
    except ValueError:
        told = None
    if answer.is_success and told is not None:
        return told
    if answer.status_code == 401:
        raise ApiRefusal(REVOKED, 401)
    if answer.is_redirect:
        raise ApiRefusal(_MOVED.format(answer.url.host, answer.headers.get("Location", "")), 301)
    if not isinstance(told, dict) or not isinstance(told.get("detail"), str):
        raise ApiRefusal(_NOT_OURS.format(answer.url.host, answer.status_code), answer.status_code)
    # The single errors say more than the summary in `detail`.
    errors = [one["detail"] for one in told.get("errors") or []]
    raise ApiRefusal(" ".join(errors) or told["detail"], answer.status_code)


def _describe_failure(error: httpx2.HTTPError) -> str:
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return NOT_RUNNING
    if isinstance(error, httpx2.TimeoutException):
        return (
            "memoryapp did not answer in time. Look with list_memories whether it was done; then try again."
        )
    return "The connection to memoryapp broke. Look with list_memories whether it was done; then try again."
