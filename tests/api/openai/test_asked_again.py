"""What a program asks once more is said once: by its key, and where OpenAI's package asks again by itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import openai
import pytest
from django.utils import timezone

from chat.actions import messages
from chat.actions.idempotency import KEPT_FOR
from chat.api.openai import repeats
from chat.generation import run as generation
from chat.models import IdempotentRequest, Message
from tests.waiting import until

SAID = [{"role": "user", "content": "I live in Oslo."}]
TEXT = "Oslo is a fine place."
NEW = {"conversation": "new"}


def said() -> list[tuple[str, str]]:
    """Return what stands in all conversations."""
    return list(Message.objects.shown().order_by("created_at", "seq").values_list("role", "content"))


ONCE = [("user", "I live in Oslo."), ("assistant", TEXT)]


class Heard:
    """What goes through a client: how often it asked, and when its first request is there."""

    def __init__(self, client: openai.OpenAI) -> None:
        self.counts: list[str] = []
        hooks = client._client.event_hooks
        hooks["request"] = [lambda request: self.counts.append(request.headers["x-stainless-retry-count"])]
        client._client.event_hooks = hooks


def test_a_package_that_gave_up_waiting_joins_the_reply_that_is_being_written(client, scripted, gate):
    scripted.replies.append(TEXT)
    impatient = client.with_options(max_retries=2, timeout=httpx2.Timeout(10, read=0.6))
    heard = Heard(impatient)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(
            impatient.chat.completions.create, model="any", messages=SAID, extra_body={"metadata": NEW}
        )
        until(lambda: len(heard.counts) == 2)
        gate.release(100)
        answer = asked.result(20)
    assert heard.counts == ["0", "1"]
    assert answer.choices[0].message.content == TEXT
    assert said() == ONCE


def test_an_answer_that_was_lost_on_its_way_comes_with_the_second_request(client, scripted, monkeypatch):
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
    assert said() == ONCE


def test_the_same_words_from_a_new_request_are_said_again(client):
    for _ in range(2):
        client.chat.completions.create(model="any", messages=SAID, metadata=NEW)
    assert Message.objects.filter(role="user").count() == 2


@pytest.mark.parametrize("stream", [False, True])
def test_with_its_own_key_a_request_says_its_words_once(client, scripted, stream):
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
    assert said() == ONCE
    with pytest.raises(openai.BadRequestError) as problem:
        ask("I live in Bergen.")
    assert problem.value.code == "idempotency_key_reused"
    assert said() == ONCE


def test_a_stream_with_a_key_goes_on_where_its_program_went(client, scripted, gate):
    scripted.replies.append(TEXT)
    ask = {"model": "any", "messages": SAID, "metadata": NEW, "stream": True}
    stream = client.chat.completions.create(**ask, extra_headers={"Idempotency-Key": "one"})
    gate.release(1)
    next(iter(stream))
    stream.close()
    again = client.chat.completions.create(**ask, extra_headers={"Idempotency-Key": "one"})
    gate.release(100)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in again) == TEXT
    assert said() == ONCE


@pytest.mark.parametrize("key", [{"Idempotency-Key": "one"}, {"x-stainless-retry-count": "1"}])
def test_what_a_kill_cut_off_is_written_anew_and_not_said_again(client, scripted, gate, key, monkeypatch):
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
    assert said() == ONCE


def test_nobody_waits_for_ever_for_a_program_that_went(client, scripted, gate, monkeypatch):
    monkeypatch.setattr(repeats, "RETURNS_SECONDS", 0.1)
    scripted.replies.append(TEXT)
    impatient = client.with_options(timeout=httpx2.Timeout(10, read=0.3))
    with pytest.raises(openai.APITimeoutError):
        impatient.chat.completions.create(model="any", messages=SAID)
    until(lambda: Message.objects.filter(role="assistant", state="stopped").exists())


def test_an_answer_that_was_told_is_soon_nobodys(client):
    client.chat.completions.create(model="any", messages=SAID, metadata=NEW)
    row = IdempotentRequest.objects.get()
    assert timezone.now() - row.created_at > KEPT_FOR - repeats._CROSSING


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_has_one_to_two_hundred_characters(client, key):
    with pytest.raises(openai.BadRequestError, match="characters"):
        client.chat.completions.create(model="any", messages=SAID, extra_headers={"Idempotency-Key": key})
    assert not Message.objects.exists()


@pytest.mark.parametrize("count", ["9" * 5000, "many", "-1"])
def test_a_count_that_is_none_breaks_nothing(client, count):
    headers = {"x-stainless-retry-count": count}
    assert client.chat.completions.create(model="any", messages=SAID, extra_headers=headers).choices
