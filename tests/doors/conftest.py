"""Sockets at the application's own door, closed again whatever happens."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
from asgiref.testing import ApplicationCommunicator

from .owned import Things

OUR_HEADERS = {"host": "testserver", "origin": "http://testserver"}
PATIENCE = 5


class Socket(ApplicationCommunicator):
    """A page's socket. (Channels has one, but its package wants the daphne server.)"""

    async def opened(self) -> bool | int:
        """Return True when the door opens, else the code it was closed with."""
        await self.send_input({"type": "websocket.connect"})
        answer = await self.receive_output(PATIENCE)
        return True if answer["type"] == "websocket.accept" else int(answer["code"])

    async def send(self, content: Any) -> None:
        """Send a frame: text as it is, bytes as they are, anything else as JSON."""
        kind = "bytes" if isinstance(content, bytes) else "text"
        raw = content if isinstance(content, str | bytes) else json.dumps(content)
        await self.send_input({"type": "websocket.receive", kind: raw})

    async def receive(self) -> dict[str, Any]:
        """Return the next frame."""
        message = await self.receive_output(PATIENCE)
        assert message["type"] == "websocket.send", message
        return dict(json.loads(message["text"]))

    async def frame(self, kind: str) -> dict[str, Any]:
        """Return the next frame of a type, passing over others."""
        while (frame := await self.receive())["type"] != kind:
            pass
        return frame

    async def is_silent(self) -> bool:
        """Return whether the answer to a ping is all that comes."""
        await self.send({"type": "ping"})
        return (await self.receive())["type"] == "pong"

    async def leave(self) -> None:
        """Close the page, or let a door that never opened be."""
        if not self.future.done():
            await self.send_input({"type": "websocket.disconnect", "code": 1001})
            await self.wait(PATIENCE)


@pytest_asyncio.fixture
async def socket() -> AsyncIterator[Callable[..., Socket]]:
    """Returns a maker of sockets to a conversation, or to none, with our own page's headers or others."""
    from memoryapp.asgi import application

    made: list[Socket] = []

    def make(conversation: Any = None, session: str = "", **headers: str | None) -> Socket:
        given = {**OUR_HEADERS, **{k.replace("_", "-"): v for k, v in headers.items()}}
        if session:
            given["cookie"] = f"sessionid={session}"
        scope = {
            "type": "websocket",
            "path": "/ws/",
            "query_string": f"conversation={conversation}".encode() if conversation else b"",
            "headers": [(k.lower().encode(), v.encode("latin1")) for k, v in given.items() if v is not None],
            "subprotocols": [],
        }
        made.append(Socket(application, scope))
        return made[-1]

    yield make
    for one in made:
        await one.leave()


@pytest.fixture
def known(make_fact):
    """One fact on each shelf, the preference pinned."""
    return {
        "boat": make_fact("User is building a boat", category="project", kind="building"),
        "chess": make_fact("User likes chess", pinned=True),
        "oslo": make_fact("User lives in Oslo", category="identity", kind="home"),
    }


@pytest.fixture
def things(server_mode: Any, owner: Any, scripted: Any) -> Things:
    """What the owner owns, on a server where people log in."""
    return Things.of(owner, "of the owner")
