"""Which requests are repeated when the connection to memoryapp breaks."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from mcp.server.mcpserver.exceptions import ToolError

from chat.mcp.access import Access
from chat.mcp.client import McpClient


def change_with_lost_response(method: str, asked: list[str]) -> Any:
    """Send a change whose first response is lost, and return the result of the client."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.method)
        if len(asked) == 1:
            raise httpx2.ReadError("the connection was lost")
        return httpx2.Response(200, json={"undo": "/api/deletions/1/undo"})

    async def ask() -> Any:
        async with McpClient(Access("http://127.0.0.1:1", "mem_x")) as client:
            client._http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
            return await client.change(method, "facts/1")

    return asyncio.run(ask())


def test_forgetting_is_repeated_and_returns_its_undo():
    asked: list[str] = []
    assert change_with_lost_response("DELETE", asked)["undo"] == "/api/deletions/1/undo"
    assert asked == ["DELETE", "DELETE"]


def test_undoing_is_not_repeated():
    asked: list[str] = []
    with pytest.raises(ToolError, match="broke"):
        change_with_lost_response("POST", asked)
    assert asked == ["POST"]
