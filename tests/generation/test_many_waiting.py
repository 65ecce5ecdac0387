"""Many clients that wait at the same time hold no thread and no database connection each."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading

import httpx2
import pytest

from chat.actions.api_tokens import create_token
from chat.actions.conversations import create_conversation
from chat.actions.messages import send_message
from chat.generation import run as generation
from chat.llm.registry import registry
from chat.models import Message
from chat.views import responses
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

CLIENTS = 80


async def wait_with_many(address: str, secret: str, begin, then) -> list[int]:
    """Begin many requests that wait, call `then` meanwhile in a thread, and return the statuses of all."""
    limits = httpx2.Limits(max_connections=None)
    headers = {"authorization": f"Bearer {secret}"}
    async with httpx2.AsyncClient(base_url=address, headers=headers, timeout=60, limits=limits) as client:
        tasks = [asyncio.create_task(begin(client, number)) for number in range(CLIENTS)]
        await asyncio.sleep(3)
        assert not any(task.done() for task in tasks), [t.result() for t in tasks if t.done()][:3]
        await asyncio.to_thread(then)
        return [answer.status_code for answer in await asyncio.gather(*tasks)]


def test_programs_that_wait_for_whole_replies_hold_no_thread(address, owner, gate):
    secret = create_token(owner, "a program")
    # Other tests of this process have left threads of pools.
    before = threading.active_count()

    def begin(client, number):
        body = {"model": "any", "messages": [{"role": "user", "content": f"Hello {number}"}]}
        return client.post("/v1/chat/completions", json=body)

    def look() -> None:
        assert threading.active_count() - before < CLIENTS
        page = httpx2.get(f"{address}/api/facts", headers={"authorization": f"Bearer {secret}"}, timeout=5)
        assert page.status_code == 200
        gate.release(10_000)

    assert set(asyncio.run(wait_with_many(address, secret, begin, look))) == {200}
    assert Message.objects.filter(role="assistant", state="complete").count() == CLIENTS


def test_programs_that_wait_for_one_reply_hold_no_thread(address, owner, gate):
    secret = create_token(owner, "a program")
    before = threading.active_count()
    _, reply = send_message(owner, "Hello")
    generation.start(reply)

    def look() -> None:
        assert threading.active_count() - before < CLIENTS
        gate.release(10_000)

    async def begin(client, number):
        return await client.get(f"/api/messages/{reply.pk}", params={"wait": 60})

    assert set(asyncio.run(wait_with_many(address, secret, begin, look))) == {200}


def test_a_message_that_waits_for_its_reply_gets_it_with_its_headers(address, owner, gate):
    secret = create_token(owner, "a program")
    chat = create_conversation(owner)
    threading.Timer(0.5, gate.release, [10_000]).start()
    answer = httpx2.post(
        f"{address}/api/conversations/{chat.pk}/messages",
        json={"content": "Hello"},
        headers={"authorization": f"Bearer {secret}", "idempotency-key": "one"},
        timeout=30,
    )
    assert answer.status_code == 201
    assert answer.json()["reply"]["state"] == "complete"
    assert answer.headers["location"] == f"/api/messages/{answer.json()['reply']['id']}"
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert "content-security-policy" in answer.headers
    again = httpx2.post(
        f"{address}/api/conversations/{chat.pk}/messages",
        json={"content": "Hello"},
        headers={"authorization": f"Bearer {secret}", "idempotency-key": "one"},
        timeout=30,
    )
    assert again.headers["idempotency-replayed"] == "true"
    assert again.json()["reply"]["id"] == answer.json()["reply"]["id"]


def test_beyond_the_limit_nothing_is_saved_and_the_client_is_told_when_to_try_again(
    address, owner, gate, monkeypatch
):
    monkeypatch.setattr(generation, "MAX_REPLIES", 1)
    secret = create_token(owner, "a program")
    _, reply = send_message(owner, "Hello")
    generation.start(reply)
    headers = {"authorization": f"Bearer {secret}"}
    body = {"model": "any", "messages": [{"role": "user", "content": "One more"}]}
    refused = httpx2.post(f"{address}/v1/chat/completions", json=body, headers=headers)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
    assert refused.headers["retry-after"]
    chat = create_conversation(owner)
    refused = httpx2.post(
        f"{address}/api/conversations/{chat.pk}/messages", json={"content": "One more"}, headers=headers
    )
    assert refused.status_code == 503
    assert refused.headers["retry-after"]
    assert not Message.objects.filter(content="One more").exists()
    gate.release(10_000)


def test_a_page_beyond_the_limit_of_requests_gets_a_sentence(address, owner, monkeypatch):
    monkeypatch.setattr("memoryapp.shared_threads.MAX_WAITING", -1000)
    refused = httpx2.get(f"{address}/")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert refused.text == "Too many requests wait here. Try again in a moment."
    refused = httpx2.get(f"{address}/api/facts")
    assert refused.json()["detail"] == "Too many requests wait here. Try again in a moment."


def test_a_reply_that_no_thread_has_begun_can_be_stopped(owner, scripted, gate):
    replies = [send_message(owner, f"Hello {number}")[1] for number in range(generation.REPLY_THREADS + 3)]
    for reply in replies:
        generation.start(reply)
    wait_until(lambda: len(scripted.calls) == generation.REPLY_THREADS)
    last = replies[-1]
    ended = []
    run = generation.find_run(last.pk)
    real = run.on_end

    def count(*args):
        ended.append(1)
        real(*args)

    run.on_end = count
    assert generation.stop(last.pk)
    assert generation.stop(last.pk, timeout=5)
    assert ended == [1]
    last.refresh_from_db()
    assert (last.state, last.failure) == ("stopped", "stopped-by-user")
    generation.stop_all()
    assert set(Message.objects.filter(role="assistant").values_list("state", flat=True)) == {"stopped"}


def test_a_reply_gives_its_connection_back_while_the_model_works(owner, scripted, gate, monkeypatch):
    released = threading.Event()
    monkeypatch.setattr("chat.generation.reply_run.release_connection", released.set)
    _, reply = send_message(owner, "Hello")
    generation.start(reply)
    assert released.wait(5)
    gate.release(10_000)
    generation.wait_all()
    assert registry.provider() is scripted


def test_a_client_that_leaves_before_its_download_begins_takes_no_place(address, owner):
    page = httpx2.get(address)
    token = page.text.split('X-CSRFToken": "')[1].split('"')[0]
    host = address.removeprefix("http://")
    head = (
        f"POST /settings/export/ HTTP/1.1\r\nHost: {host}\r\nOrigin: {address}\r\nX-CSRFToken: {token}\r\n"
        f"Cookie: csrftoken={page.cookies['csrftoken']}\r\nContent-Length: 0\r\n\r\n"
    ).encode()
    for _ in range(responses.MAX_DOWNLOADS * 3):
        with socket.create_connection(tuple(host.split(":")), timeout=5) as client:
            client.sendall(head)
    headers = {"origin": address, "x-csrftoken": token}

    def is_answered() -> bool:
        gc.collect()
        answer = httpx2.post(
            f"{address}/settings/export/", headers=headers, cookies=dict(page.cookies), timeout=20
        )
        return answer.status_code == 200 and "conversations" in answer.text

    wait_until(is_answered)
