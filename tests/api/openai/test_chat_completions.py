"""Chat completions with the `openai` package: whole and streamed replies, token usage, and errors."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from django.db import OperationalError

from chat.errors import ProviderError, Reason
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.models import Conversation, Message, UsageRecord
from tests.waiting import wait_until

TEXT = "The capital of Norway is Oslo."


def error_message(problem: Any) -> str:
    """Return the message of an error."""
    return str(problem.value.body["message"])


class TestWholeReplies:
    """Replies that are returned as a whole."""

    def test_the_reply_has_the_text_of_the_model_and_its_usage(self, ask, scripted):
        scripted.replies.append(TEXT)
        answer = ask("What is the capital of Norway?")
        assert answer.choices[0].message.content == TEXT
        assert answer.choices[0].finish_reason == "stop"
        assert answer.model == "scripted"
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 10
        record = UsageRecord.objects.get(purpose="reply")
        assert record.completion_tokens == answer.usage.completion_tokens

    def test_the_system_message_and_earlier_messages_reach_the_model(self, ask, scripted):
        ask(("system", "Answer in verse."), "My name is Ada.", ("assistant", "Hello, Ada."), "And yours?")
        turns = [(t.role, t.content) for t in scripted.calls[-1].turns]
        assert turns[0][0] == "system"
        assert turns[0][1].startswith("Answer in verse.")
        said = [text for _role, text in turns[1:]]
        assert said[:2] == ["My name is Ada.", "Hello, Ada."]
        assert said[2].endswith("And yours?")

    def test_text_parts_and_messages_of_one_role_are_joined(self, client, scripted):
        parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
        said = [{"role": "user", "content": parts}, {"role": "user", "content": "three"}]
        client.chat.completions.create(model="any", messages=said)
        assert scripted.calls[-1].turns[-1].content.endswith("one\ntwo\n\nthree")

    def test_max_tokens_and_stop_sequences_are_applied(self, ask, scripted):
        scripted.replies.extend([TEXT, TEXT])
        assert ask("Where?", stop=" is").choices[0].message.content == "The capital of Norway"
        assert Message.objects.get(role="assistant").content == "The capital of Norway"
        ask("Where?", max_completion_tokens=7, temperature=0.1)
        assert scripted.calls[-1].max_tokens == 7

    def test_a_failed_reply_is_a_server_error(self, ask, scripted):
        scripted.replies.append(ProviderError("verbatim", sentence="The server is away."))
        with pytest.raises(openai.InternalServerError) as problem:
            ask("Hello")
        assert error_message(problem) == "The server is away."


def test_a_message_whose_reply_failed_is_not_sent_again_by_retries(client, scripted):
    scripted.replies.append(ProviderError("verbatim", sentence="The server is away."))
    patient = client.with_options(max_retries=2)
    with pytest.raises(openai.InternalServerError):
        patient.chat.completions.create(model="any", messages=[{"role": "user", "content": "Once"}])
    assert Message.objects.filter(role="user").count() == 1


def test_a_stopped_reply_is_an_error(client, scripted, gate):
    from concurrent.futures import ThreadPoolExecutor

    from chat.generation import run as generation

    scripted.replies.append("one two three")
    with ThreadPoolExecutor() as pool:
        said = [{"role": "user", "content": "Count"}]
        asked = pool.submit(client.chat.completions.create, model="any", messages=said)
        wait_until(lambda: generation.count_running())
        gate.release(1)
        wait_until(lambda: Message.objects.filter(role="assistant").exists())
        generation.stop(Message.objects.get(role="assistant").pk)
        with pytest.raises(openai.InternalServerError) as problem:
            asked.result(20)
    assert error_message(problem) == "You stopped this reply."


@pytest.mark.parametrize("stream", [False, True])
def test_a_locked_database_at_the_end_does_not_withhold_the_reply(ask, scripted, monkeypatch, stream):
    def raise_locked(*args):
        raise OperationalError("database is locked")

    monkeypatch.setattr("chat.actions.client_history.await_next_request", raise_locked)
    monkeypatch.setattr("chat.actions.idempotency.shorten_retention", raise_locked)
    scripted.replies.append(TEXT)
    answer = ask("Where?", stream=stream)
    if stream:
        *pieces, last = answer
        assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == TEXT
        assert last.choices[0].finish_reason == "stop"
    else:
        assert answer.choices[0].message.content == TEXT


class TestStreamedReplies:
    """Replies that are streamed."""

    def test_the_chunks_join_to_the_text_and_the_usage_comes_last(self, ask, scripted):
        scripted.replies.append(TEXT)
        chunks = list(ask("Where?", stream=True, stream_options={"include_usage": True}))
        assert chunks[0].choices[0].delta.role == "assistant"
        texts = [c.choices[0].delta.content for c in chunks if c.choices]
        assert "".join(text or "" for text in texts) == TEXT
        assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
        assert chunks[-1].choices == []
        assert chunks[-1].usage.completion_tokens > 0
        assert all(chunk.usage is None for chunk in chunks[:-1])
        assert len({chunk.id for chunk in chunks}) == 1

    def test_each_chunk_is_sent_as_soon_as_it_is_written(self, ask, scripted, gate):
        scripted.replies.append(TEXT)
        stream = iter(ask("Where?", stream=True))
        assert next(stream).choices[0].delta.role == "assistant"
        gate.release(1)
        assert next(stream).choices[0].delta.content == "The "
        gate.release(100)
        assert "".join(c.choices[0].delta.content or "" for c in stream) == TEXT.removeprefix("The ")

    def test_a_client_that_disconnects_stops_its_reply(self, ask, scripted, gate):
        scripted.replies.append("word " * 500)
        stream = ask("Where?", stream=True)
        gate.release(3)
        next(iter(stream))
        stream.close()
        wait_until(lambda: Message.objects.filter(role="assistant", state="stopped").exists())
        reply = Message.objects.get(role="assistant")
        assert len(reply.content) < 100
        assert reply.failure == "stopped-by-client"

    def test_a_failure_ends_the_stream_with_an_error(self, ask, scripted):
        scripted.replies.append(ProviderError("verbatim", sentence="The server is away."))
        with pytest.raises(openai.APIError, match="The server is away"):
            list(ask("Where?", stream=True))


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"n": 2}, "n"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"logprobs": True}, "logprobs"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"temperature": 9}, "2"),
        ({"max_tokens": 0}, "1"),
        ({"stop": ["a"] * 5}, "4"),
        ({"messages": []}, "1"),
        ({"messages": [{"role": "assistant", "content": "Hi"}]}, "last message"),
        ({"messages": [{"role": "tool", "content": "4", "tool_call_id": "x"}]}, "system"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "image_url"),
        ({"messages": [{"role": "assistant", "content": "", "tool_calls": [{"id": "x"}]}]}, "tool_calls"),
        ({"extra_body": {"messages": 3}}, "array"),
    ],
)
def test_an_unsupported_parameter_is_refused_by_name(client, more, word):
    asked = {"model": "any", "messages": [{"role": "user", "content": "Hi"}]} | more
    with pytest.raises(openai.BadRequestError) as problem:
        client.chat.completions.create(**asked)
    assert word in error_message(problem)
    assert not Message.objects.exists()


def test_a_system_message_longer_than_the_window_is_shortened(ask, scripted):
    answer = ask(("system", "Be brief. " * 100_000), "Hi")
    assert answer.choices[0].message.content == scripted.default
    assert answer.usage.prompt_tokens < scripted.context_window


def test_null_values_are_ignored(client, scripted):
    nothing = dict.fromkeys(
        ("stream", "stream_options", "temperature", "max_tokens", "stop", "metadata", "tools", "n", "user")
    )
    said = {"role": "user", "content": "Hi", "name": None, "tool_calls": None}
    before: dict[str, Any] = {
        "role": "assistant",
        "content": "Hello",
        "tool_calls": [],
        "refusal": None,
        "audio": None,
    }
    for more in (nothing, {"metadata": {"conversation": None}, "stream_options": {"include_usage": None}}):
        answer = client.chat.completions.create(model="any", messages=[said, before, said], extra_body=more)
        assert answer.choices[0].finish_reason == "stop"


@pytest.mark.parametrize(
    ("content", "place"),
    [([{"type": "image_url"}], "messages.0.content.0.type"), (5, "messages.0.content")],
    ids=["a part", "a number"],
)
def test_an_error_names_the_parameter_in_the_request(client, content, place):
    with pytest.raises(openai.BadRequestError) as problem:
        client.chat.completions.create(model="any", messages=[{"role": "user", "content": content}])
    assert problem.value.param == place


def test_null_characters_are_removed_from_every_text(client, scripted):
    said = [{"role": "system", "content": "Brief\x00ly."}, {"role": "user", "content": "H\x00i"}]
    answer = client.chat.completions.create(
        model="any", messages=said, metadata={"conversation": "new", "app": "gen\x00eral"}
    )
    made = Conversation.objects.get(pk=answer.conversation)
    assert (made.system_prompt, made.title) == ("Briefly.", "Hi")


def test_sampling_parameters_are_accepted_and_ignored(ask):
    assert ask("Hi", top_p=0.9, seed=4, frequency_penalty=0.5, user="me").choices


def test_without_a_model_nothing_is_saved(ask):
    reason = Reason("verbatim", {"sentence": "There is no model."})
    registry.set_status(ModelStatus(ModelState.MISSING, reason=reason))
    with pytest.raises(openai.InternalServerError) as problem:
        ask("Hi")
    assert problem.value.status_code == 503
    assert error_message(problem) == "There is no model."
    assert not Message.objects.exists()


def test_a_model_that_goes_away_during_the_wait_is_a_server_error(client):
    reason = Reason("verbatim", {"sentence": "It does not answer."})
    registry.set_status(ModelStatus(ModelState.AWAY, reason=reason))
    with pytest.raises(openai.InternalServerError) as problem:
        client.with_options(max_retries=0).chat.completions.create(
            model="any", messages=[{"role": "user", "content": "Hi"}]
        )
    assert (problem.value.status_code, error_message(problem)) == (503, "It does not answer.")
    assert problem.value.code == "model_not_ready"
    assert Message.objects.get(role="assistant").failure == reason.encode()


def test_the_only_model_is_listed(client):
    assert [model.id for model in client.models.list()] == ["scripted"]
    assert client.models.retrieve("scripted").owned_by == "memoryapp"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-9")
