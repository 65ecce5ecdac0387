"""A repeated request adds its message only once: by its key, or when the `openai` package retries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import openai
import pytest
from django.utils import timezone

from chat.actions import messages
from chat.actions.idempotency import KEPT_FOR
from chat.api.openai import idempotency
from chat.generation import run as generation
from chat.models import IdempotentRequest, Message
from tests.waiting import wait_until

SAID = [{"role": "user", "content": "I live in Oslo."}]
TEXT = "Oslo is a fine place."
NEW = {"conversation": "new"}


def saved_messages() -> list[tuple[str, str]]:
    """Return the role and text of all messages."""
    return list(Message.objects.current_branch().order_by("created_at", "seq").values_list("role", "content"))


ONCE = [("user", "I live in Oslo."), ("assistant", TEXT)]


class RetryCounts:
    """Records the retry count of each request of a client."""

    def __init__(self, client: openai.OpenAI) -> None:
        self.counts: list[str] = []
        hooks = client._client.event_hooks
        hooks["request"] = [lambda request: self.counts.append(request.headers["x-stainless-retry-count"])]
        client._client.event_hooks = hooks


def test_a_retry_after_a_timeout_joins_the_running_reply(client, scripted, gate):
    scripted.replies.append(TEXT)
    impatient = client.with_options(max_retries=2, timeout=httpx2.Timeout(10, read=0.6))
    heard = RetryCounts(impatient)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(
            impatient.chat.completions.create, model="any", messages=SAID, extra_body={"metadata": NEW}
        )
        wait_until(lambda: len(heard.counts) == 2)
        gate.release(100)
        answer = asked.result(20)
    assert heard.counts == ["0", "1"]
    assert answer.choices[0].message.content == TEXT
    assert saved_messages() == ONCE


def test_a_retry_after_a_lost_response_gets_the_same_reply(client, scripted, monkeypatch):
    scripted.replies.append(TEXT)
    patient = client.with_options(max_retries=1)
    lose = [True]

    def lost(response: Any) -> None:
        if lose.pop() if lose else False:
            raise httpx2.ReadError("the connection was lost")

    patient._client.event_hooks = {"request": [], "response": [lost]}
    answer = patient.chat.completions.create(model="any", messages=SAID, metadata=NEW)
    assert answer.choices[0].message.content == TEXT
    assert answer.usage.completion_tokens > 0
    assert saved_messages() == ONCE


def test_the_same_text_in_a_new_request_is_saved_again(client):
    for _ in range(2):
        client.chat.completions.create(model="any", messages=SAID, metadata=NEW)
    assert Message.objects.filter(role="user").count() == 2


@pytest.mark.parametrize("stream", [False, True])
def test_requests_with_the_same_key_save_the_message_once(client, scripted, stream):
    scripted.replies.append(TEXT)

    def ask(text: str = "I live in Oslo.") -> str:
        answer = client.chat.completions.create(
            model="any",
            messages=[{"role": "user", "content": text}],
            metadata=NEW,
            stream=stream,
            extra_headers={"Idempotency-Key": "one"},
        )
        if not stream:
            return str(answer.choices[0].message.content)
        return "".join(chunk.choices[0].delta.content or "" for chunk in answer)

    assert (ask(), ask()) == (TEXT, TEXT)
    assert saved_messages() == ONCE
    with pytest.raises(openai.BadRequestError) as problem:
        ask("I live in Bergen.")
    assert problem.value.code == "idempotency_key_reused"
    assert saved_messages() == ONCE


def test_a_repeated_stream_with_the_key_continues(client, scripted, gate):
    scripted.replies.append(TEXT)
    ask = {"model": "any", "messages": SAID, "metadata": NEW, "stream": True}
    stream = client.chat.completions.create(**ask, extra_headers={"Idempotency-Key": "one"})
    gate.release(1)
    next(iter(stream))
    stream.close()
    again = client.chat.completions.create(**ask, extra_headers={"Idempotency-Key": "one"})
    gate.release(100)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in again) == TEXT
    assert saved_messages() == ONCE


@pytest.mark.parametrize("key", [{"Idempotency-Key": "one"}, {"x-stainless-retry-count": "1"}])
def test_a_reply_lost_with_the_process_is_generated_again_for_its_message(
    client, scripted, gate, key, monkeypatch
):
    scripted.replies.append(TEXT)
    ask = {"model": "any", "messages": SAID, "metadata": NEW}
    first = key if "Idempotency-Key" in key else {}
    monkeypatch.setattr(generation, "start", lambda reply, options: pytest.fail("killed"))
    with pytest.raises(openai.InternalServerError):
        client.chat.completions.create(**ask, extra_headers=first)
    monkeypatch.undo()
    assert messages.stop_stale_replies() == 1
    gate.release(100)
    for _ in range(2):
        answer = client.chat.completions.create(**ask, extra_headers=key)
        assert answer.choices[0].message.content == TEXT
    assert saved_messages() == ONCE


def test_a_reply_is_stopped_when_no_retry_comes(client, scripted, gate, monkeypatch):
    monkeypatch.setattr(idempotency, "RETRY_WINDOW_SECONDS", 0.1)
    scripted.replies.append(TEXT)
    impatient = client.with_options(timeout=httpx2.Timeout(10, read=0.3))
    with pytest.raises(openai.APITimeoutError):
        impatient.chat.completions.create(model="any", messages=SAID)
    wait_until(lambda: Message.objects.filter(role="assistant", state="stopped").exists())


def test_the_key_of_a_delivered_reply_expires_soon(client):
    client.chat.completions.create(model="any", messages=SAID, metadata=NEW)
    row = IdempotentRequest.objects.get()
    assert timezone.now() - row.created_at > KEPT_FOR - idempotency._CROSSING_TIME


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_has_one_to_two_hundred_characters(client, key):
    with pytest.raises(openai.BadRequestError, match="characters"):
        client.chat.completions.create(model="any", messages=SAID, extra_headers={"Idempotency-Key": key})
    assert not Message.objects.exists()


@pytest.mark.parametrize("count", ["9" * 5000, "many", "-1"])
def test_an_invalid_retry_count_is_ignored(client, count):
    headers = {"x-stainless-retry-count": count}
    assert client.chat.completions.create(model="any", messages=SAID, extra_headers=headers).choices
