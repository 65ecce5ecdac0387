"""What is asked once more by itself when the connection to memoryapp breaks, and what is not."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from mcp.server.mcpserver.exceptions import ToolError

from chat.mcp.access import Access
from chat.mcp.client import Client


def changed(method: str, asked: list[str]) -> Any:
    """Return what a client is told whose first request is lost on its way back."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.method)
        if len(asked) == 1:
            raise httpx2.ReadError("the connection was lost")
        return httpx2.Response(200, json={"undo": "/api/deletions/1/undo"})

    async def ask() -> Any:
        async with Client(Access("http://127.0.0.1:1", "mem_x")) as client:
            client._http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
            return await client.change(method, "facts/1")

    return asyncio.run(ask())


def test_forgetting_is_and_tells_its_undo():
    asked: list[str] = []
    assert changed("DELETE", asked)["undo"] == "/api/deletions/1/undo"
    assert asked == ["DELETE", "DELETE"]


def test_undoing_is_not():
    asked: list[str] = []
    with pytest.raises(ToolError, match="broke"):
        changed("POST", asked)
    assert asked == ["POST"]
