"""A client that disconnects stops its reply, at whatever point of the request it disconnects."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from chat.actions.api_tokens import create_token
from chat.api.openai import requests, views
from chat.models import Message
from memoryapp.middleware import ContentSecurityPolicy
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


class DisconnectingClient:
    """One request to /v1, sent to the ASGI application without a network."""

    def __init__(self, user: Any, *, stream: bool) -> None:
        from memoryapp.asgi import application

        self._application: Any = application
        self._body = json.dumps({"messages": [{"role": "user", "content": "Where?"}], "stream": stream})
        token = create_token(user, "a program")
        self._headers = {"host": "localhost", "authorization": f"Bearer {token}"}
        self._gone: asyncio.Event
        self._sent_body = False
        # False: the client does not read the response, so that nothing more can be sent.
        self.reads = True
        self.heard = 0

    async def disconnect_after(self, happens: Callable[[], object]) -> None:
        """Send the request, disconnect once `happens()` is true, and wait for the request's end."""
        self._gone = asyncio.Event()
        request = asyncio.create_task(self._application(self._scope(), self._receive, self._send))
        await asyncio.to_thread(wait_until, happens)
        self._gone.set()
        async with asyncio.timeout(10):
            await request
        await asyncio.to_thread(wait_until, lambda: Message.objects.filter(state="stopped").exists())

    def _scope(self) -> dict[str, Any]:
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/v1/chat/completions",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in self._headers.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 80),
        }

    async def _receive(self) -> dict[str, Any]:
        if not self._sent_body:
            self._sent_body = True
            return {"type": "http.request", "body": self._body.encode(), "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.heard += message["type"] == "http.response.body"
        if not self.reads:
            await asyncio.Event().wait()


@pytest.fixture
def program(owner: Any, scripted: Any, gate: threading.Semaphore) -> Callable[..., DisconnectingClient]:
    """Return a function that makes a client of the owner; the model writes three words and then waits."""
    scripted.replies.append("word " * 500)
    gate.release(3)
    return lambda *, stream: DisconnectingClient(owner, stream=stream)


@pytest.fixture(autouse=True)
def _short_wait_for_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop a reply half a second after its client disconnected before the reply was followed."""
    monkeypatch.setattr(views, "_FOLLOW_WITHIN_SECONDS", 0.5)


class Pause:
    """Delays the end of a function until its request has been cancelled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
        self.reached = threading.Event()
        held_up = getattr(owner, name)

        def hold(*args: Any, **options: Any) -> Any:
            result = held_up(*args, **options)
            self.reached.set()
            # Longer than the event loop needs to cancel the request, which waits for this thread.
            threading.Event().wait(0.3)
            return result

        monkeypatch.setattr(owner, name, hold)


@pytest.mark.parametrize("stream", [False, True])
def test_disconnect_while_the_reply_is_written(program, stream):
    asyncio.run(program(stream=stream).disconnect_after(_is_reply_running))


@pytest.mark.parametrize("stream", [False, True])
def test_disconnect_while_the_reply_begins(program, monkeypatch, stream):
    pause = Pause(monkeypatch, requests, "begin_reply")
    asyncio.run(program(stream=stream).disconnect_after(pause.reached.is_set))


def test_disconnect_while_the_response_passes_the_middleware(program, monkeypatch):
    pause = Pause(monkeypatch, ContentSecurityPolicy, "__call__")
    asyncio.run(program(stream=True).disconnect_after(pause.reached.is_set))


def test_disconnect_while_the_client_does_not_read(program):
    client = program(stream=True)
    client.reads = False
    asyncio.run(client.disconnect_after(lambda: client.heard or _is_reply_running()))


def _is_reply_running() -> bool:
    from chat.generation import run as generation

    return generation.count_running() > 0
