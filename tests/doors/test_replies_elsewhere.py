"""Replies that another process writes: a stop blocks no thread, and a short outage of the database does not
end the request that follows the reply.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError

from chat import consumers
from chat.generation import elsewhere
from chat.generation.hub import hub
from chat.generation.options import DEFAULT_OPTIONS
from chat.models import Message, MessageState
from tests.waiting import wait_until

pytestmark = [pytest.mark.asyncio, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stops that another process is asked for; it is never heard of again."""
    asked: list[str] = []

    def ask(reply: str, _conversation: str) -> bool:
        asked.append(reply)
        return True

    monkeypatch.setattr(hub, "is_shared", True)
    monkeypatch.setattr(elsewhere, "request_stop", ask)
    return asked


@pytest.fixture
def faulty_database(monkeypatch: pytest.MonkeyPatch) -> Any:
    """While this is set, rows of messages cannot be read here."""
    is_faulty = threading.Event()
    real = Message.objects.filter

    def read(*args: Any, **chosen: Any) -> Any:
        if is_faulty.is_set():
            raise OperationalError("the connection is lost")
        return real(*args, **chosen)

    monkeypatch.setattr(Message.objects, "filter", read)
    return is_faulty


async def end_reply(reply: Message) -> None:
    await sync_to_async(Message.objects.filter(pk=reply.pk).update)(state=MessageState.COMPLETE)


async def test_stops_of_many_pages_leave_the_writing_threads_to_others(socket, talk, stops, monkeypatch):
    monkeypatch.setattr(consumers, "_STOPPING_SECONDS", 30.0)
    _, reply = await sync_to_async(talk)("Hello")
    pages = [socket(reply.conversation_id) for _ in range(4)]
    for page in pages:
        await page.connect()
        for _ in range(3):
            await page.send({"type": "stop", "reply": str(reply.pk)})
    await asyncio.to_thread(wait_until, lambda: len(stops) >= len(pages))
    async with asyncio.timeout(10):
        await consumers._write(lambda: None)
    assert stops == [str(reply.pk)] * len(pages)
    await end_reply(reply)


async def test_a_reply_of_a_process_that_does_not_answer_ends_with_its_saved_text(
    socket, talk, stops, monkeypatch
):
    monkeypatch.setattr(consumers, "_STOPPING_SECONDS", 0.5)
    _, reply = await sync_to_async(talk)("Hello")
    page = socket(reply.conversation_id)
    await page.connect()
    await page.send({"type": "stop", "reply": str(reply.pk)})
    assert await page.frame("message") == {"type": "message", "id": str(reply.pk)}
    await sync_to_async(reply.refresh_from_db)()
    assert (reply.state, reply.failure) == (MessageState.STOPPED, "stopped-by-user")


async def test_a_stop_for_a_reply_of_another_conversation_ends_nothing(socket, talk, stops, monkeypatch):
    monkeypatch.setattr(consumers, "_STOPPING_SECONDS", 0.1)
    (_, reply), (_, other) = await sync_to_async(talk)("Hello"), await sync_to_async(talk)("Hello again")
    assert await elsewhere.ask_to_stop(str(reply.pk), 0.1, str(other.conversation_id))
    assert await elsewhere.ask_to_stop("no key", 0.1, str(other.conversation_id))
    assert stops == [str(reply.pk)]
    await sync_to_async(reply.refresh_from_db)()
    assert reply.state == MessageState.STREAMING


async def test_waiting_for_an_end_outlasts_a_fault_of_the_database(talk, stops, faulty_database):
    _, reply = await sync_to_async(talk)("Hello")
    faulty_database.set()
    waiting = asyncio.create_task(elsewhere.wait_end(str(reply.pk), 20))
    await asyncio.sleep(0.5)
    assert not waiting.done()
    faulty_database.clear()
    await end_reply(reply)
    assert await waiting


async def test_following_a_reply_outlasts_a_fault_of_the_database(talk, stops, faulty_database):
    _, reply = await sync_to_async(talk)("Hello")
    there = elsewhere.follow_elsewhere(reply, DEFAULT_OPTIONS)
    assert there is not None
    faulty_database.set()
    await there.refresh()
    assert not there.is_over
    faulty_database.clear()
    await end_reply(reply)
    await there.refresh()
    assert (there.is_over, there.state) == (True, MessageState.COMPLETE)
    await sync_to_async(Message.objects.filter(pk=reply.pk).delete)()
    again = elsewhere.follow_elsewhere(reply, DEFAULT_OPTIONS)
    assert again is not None
    await again.refresh()
    assert (again.is_over, again.state) == (True, MessageState.STOPPED)


async def test_a_page_that_asks_for_a_reply_of_another_process_is_told_its_end_by_the_hub(
    socket, talk, stops, monkeypatch
):
    expected: list[tuple[str, str]] = []
    monkeypatch.setattr(hub, "expect", lambda *names: expected.append(names))
    _, reply = await sync_to_async(talk)("Hello")
    page = socket(reply.conversation_id)
    await page.connect()
    await page.send({"type": "resync", "reply": str(reply.pk)})
    await page.send({"type": "ping"})
    await page.frame("pong")
    assert expected == [(str(reply.conversation_id), str(reply.pk))]
    await end_reply(reply)
    await page.send({"type": "resync", "reply": str(reply.pk)})
    assert await page.frame("done") == {"type": "done", "reply": str(reply.pk)}
