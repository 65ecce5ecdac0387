"""WebSocket clients, sample facts, and one object of each kind."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio
from asgiref.testing import ApplicationCommunicator

from .owned_objects import OwnedObjects

OUR_HEADERS = {"host": "testserver", "origin": "http://testserver"}
PATIENCE = 5


class Socket(ApplicationCommunicator):
    """The WebSocket client of a page. (The class that Channels offers needs the daphne server.)"""

    async def connect(self) -> bool | int:
        """Connect; return True if the server accepts and does not close at once, else the close code."""
        await self.send_input({"type": "websocket.connect"})
        answer = await self.receive_output(PATIENCE)
        if answer["type"] == "websocket.accept":
            for _ in range(10):
                if not self.output_queue.empty():
                    break
                await asyncio.sleep(0.002)
            waiting: Any = self.output_queue._queue  # type: ignore[attr-defined]
            if not waiting or waiting[0]["type"] != "websocket.close":
                return True
            answer = await self.receive_output(PATIENCE)
        return int(answer["code"])

    async def wait_for_close(self, seconds: float) -> int:
        """Return the code with which the server closes the socket within `seconds`; frames are skipped."""
        while (message := await self.receive_output(seconds))["type"] != "websocket.close":
            pass
        return int(message["code"])

    async def send(self, content: Any) -> None:
        """Send a frame: text and bytes as they are, anything else as JSON."""
        kind = "bytes" if isinstance(content, bytes) else "text"
        raw = content if isinstance(content, str | bytes) else json.dumps(content)
        await self.send_input({"type": "websocket.receive", kind: raw})

    async def receive(self) -> dict[str, Any]:
        """Return the next frame."""
        message = await self.receive_output(PATIENCE)
        assert message["type"] == "websocket.send", message
        return dict(json.loads(message["text"]))

    async def frame(self, kind: str) -> dict[str, Any]:
        """Return the next frame of this type and skip all others."""
        while (frame := await self.receive())["type"] != kind:
            pass
        return frame

    async def is_silent(self) -> bool:
        """Return True if the next frame answers a ping, so that no other frame was waiting."""
        await self.send({"type": "ping"})
        return (await self.receive())["type"] == "pong"

    async def leave(self) -> None:
        """Disconnect, unless the server has closed the socket already."""
        if not self.future.done():
            await self.send_input({"type": "websocket.disconnect", "code": 1001})
            await self.wait(PATIENCE)


@pytest_asyncio.fixture
async def socket() -> AsyncIterator[Callable[..., Socket]]:
    """Return a function that makes a socket for a conversation or for none; by default with our headers.

    All sockets are closed at the end of the test.
    """
    from memoryapp.asgi import application

    made: list[Socket] = []

    def make(conversation: Any = None, session: str = "", zone: str = "", **headers: str | None) -> Socket:
        given = {**OUR_HEADERS, **{k.replace("_", "-"): v for k, v in headers.items()}}
        if session:
            given["cookie"] = f"sessionid={session}"
        scope = {
            "type": "websocket",
            "path": "/ws/",
            "query_string": "&".join(
                f"{name}={value}" for name, value in (("conversation", conversation), ("zone", zone)) if value
            ).encode(),
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
    """One fact of each of three categories by keyword; the preference is pinned."""
    return {
        "boat": make_fact("User is building a boat", category="project", kind="building"),
        "chess": make_fact("User likes chess", pinned=True),
        "oslo": make_fact("User lives in Oslo", category="identity", kind="home"),
    }


@pytest.fixture
def things(server_mode: Any, owner: Any, scripted: Any) -> OwnedObjects:
    """One object of each kind of the owner, in server mode."""
    return OwnedObjects.of(owner, "of the owner")
