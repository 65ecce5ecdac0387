"""OpenAI's own package gets replies, whole and in pieces, with what they cost."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from django.db import OperationalError

from chat.llm.registry import registry
from chat.llm.state import ModelState, Status
from chat.llm.types import ProviderError
from chat.models import Conversation, Message, UsageRecord
from tests.waiting import until

TEXT = "The capital of Norway is Oslo."


def told(problem: Any) -> str:
    """Return the sentence of an error."""
    return str(problem.value.body["message"])


class TestWhole:
    """A reply that is waited for."""

    def test_it_is_what_the_model_said_with_its_cost(self, ask, scripted):
        scripted.replies.append(TEXT)
        answer = ask("What is the capital of Norway?")
        assert answer.choices[0].message.content == TEXT
        assert answer.choices[0].finish_reason == "stop"
        assert answer.model == "scripted"
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 10
        record = UsageRecord.objects.get(purpose="reply")
        assert record.completion_tokens == answer.usage.completion_tokens

    def test_the_system_message_and_what_was_said_before_reach_the_model(self, ask, scripted):
        ask(("system", "Answer in verse."), "My name is Ada.", ("assistant", "Hello, Ada."), "And yours?")
        turns = [(t.role, t.content) for t in scripted.calls[-1].turns]
        assert turns[0][0] == "system"
        assert turns[0][1].startswith("Answer in verse.")
        said = [text for _role, text in turns[1:]]
        assert said[:2] == ["My name is Ada.", "Hello, Ada."]
        assert said[2].endswith("And yours?")

    def test_parts_of_text_and_messages_of_one_role_are_read_as_one(self, client, scripted):
        parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
        said = [{"role": "user", "content": parts}, {"role": "user", "content": "three"}]
        client.chat.completions.create(model="any", messages=said)
        assert scripted.calls[-1].turns[-1].content.endswith("one\ntwo\n\nthree")

    def test_the_most_tokens_and_the_stops_are_kept(self, ask, scripted):
        scripted.replies.extend([TEXT, TEXT])
        assert ask("Where?", stop=" is").choices[0].message.content == "The capital of Norway"
        assert Message.objects.get(role="assistant").content == "The capital of Norway"
        ask("Where?", max_completion_tokens=7, temperature=0.1)
        assert scripted.calls[-1].max_tokens == 7

    def test_a_reply_that_fails_is_an_error_of_the_server(self, ask, scripted):
        scripted.replies.append(ProviderError("The server is away."))
        with pytest.raises(openai.InternalServerError) as problem:
            ask("Hello")
        assert told(problem) == "The server is away."


def test_a_message_whose_reply_failed_is_not_sent_again_by_itself(client, scripted):
    scripted.replies.append(ProviderError("The server is away."))
    patient = client.with_options(max_retries=2)
    with pytest.raises(openai.InternalServerError):
        patient.chat.completions.create(model="any", messages=[{"role": "user", "content": "Once"}])
    assert Message.objects.filter(role="user").count() == 1


def test_half_a_reply_is_not_taken_for_a_whole_one(client, scripted, gate):
    from concurrent.futures import ThreadPoolExecutor

    from chat.generation import run as generation

    scripted.replies.append("one two three")
    with ThreadPoolExecutor() as pool:
        said = [{"role": "user", "content": "Count"}]
        asked = pool.submit(client.chat.completions.create, model="any", messages=said)
        until(lambda: generation.running())
        gate.release(1)
        until(lambda: Message.objects.filter(role="assistant").exists())
        generation.stop(Message.objects.get(role="assistant").pk)
        with pytest.raises(openai.InternalServerError) as problem:
            asked.result(20)
    assert told(problem) == "You stopped this reply."


@pytest.mark.parametrize("stream", [False, True])
def test_a_held_database_at_the_end_keeps_no_reply_back(ask, scripted, monkeypatch, stream):
    def held(*args):
        raise OperationalError("database is locked")

    monkeypatch.setattr("chat.actions.borrowed.await_more", held)
    monkeypatch.setattr("chat.actions.idempotency.let_go", held)
    scripted.replies.append(TEXT)
    answer = ask("Where?", stream=stream)
    if stream:
        *pieces, last = answer
        assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == TEXT
        assert last.choices[0].finish_reason == "stop"
    else:
        assert answer.choices[0].message.content == TEXT


class TestStreamed:
    """A reply that comes as it is written."""

    def test_the_pieces_join_to_the_text_and_the_cost_comes_last(self, ask, scripted):
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

    def test_each_piece_comes_as_soon_as_it_is_written(self, ask, scripted, gate):
        scripted.replies.append(TEXT)
        stream = iter(ask("Where?", stream=True))
        assert next(stream).choices[0].delta.role == "assistant"
        gate.release(1)
        assert next(stream).choices[0].delta.content == "The "
        gate.release(100)
        assert "".join(c.choices[0].delta.content or "" for c in stream) == TEXT.removeprefix("The ")

    def test_a_program_that_goes_away_stops_its_reply(self, ask, scripted, gate):
        scripted.replies.append("word " * 500)
        stream = ask("Where?", stream=True)
        gate.release(3)
        next(iter(stream))
        stream.close()
        until(lambda: Message.objects.filter(role="assistant", state="stopped").exists())
        reply = Message.objects.get(role="assistant")
        assert len(reply.content) < 100
        assert reply.failure == "The program that asked for this went away before its end."

    def test_a_failure_ends_it_with_a_sentence(self, ask, scripted):
        scripted.replies.append(ProviderError("The server is away."))
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
def test_what_cannot_be_done_is_refused_by_name_and_saves_nothing(client, more, word):
    asked = {"model": "any", "messages": [{"role": "user", "content": "Hi"}]} | more
    with pytest.raises(openai.BadRequestError) as problem:
        client.chat.completions.create(**asked)
    assert word in told(problem)
    assert not Message.objects.exists()


def test_instructions_longer_than_any_window_do_not_keep_a_reply_away(ask, scripted):
    answer = ask(("system", "Be brief. " * 100_000), "Hi")
    assert answer.choices[0].message.content == scripted.default
    assert answer.usage.prompt_tokens < scripted.context_window


def test_null_asks_for_nothing(client, scripted):
    nothing = dict.fromkeys(
        ("stream", "stream_options", "temperature", "max_tokens", "stop", "metadata", "tools", "n", "user")
    )
    said = {"role": "user", "content": "Hi", "name": None, "tool_calls": None}
    before = {"role": "assistant", "content": "Hello", "tool_calls": [], "refusal": None, "audio": None}
    for more in (nothing, {"metadata": {"conversation": None}, "stream_options": {"include_usage": None}}):
        answer = client.chat.completions.create(model="any", messages=[said, before, said], extra_body=more)
        assert answer.choices[0].finish_reason == "stop"


@pytest.mark.parametrize(
    ("content", "place"),
    [([{"type": "image_url"}], "messages.0.content.0.type"), (5, "messages.0.content")],
    ids=["a part", "a number"],
)
def test_the_place_of_a_fault_is_where_its_program_put_it(client, content, place):
    with pytest.raises(openai.BadRequestError) as problem:
        client.chat.completions.create(model="any", messages=[{"role": "user", "content": content}])
    assert problem.value.param == place


def test_what_no_database_can_hold_is_left_out_of_every_text(client, scripted):
    said = [{"role": "system", "content": "Brief\x00ly."}, {"role": "user", "content": "H\x00i"}]
    answer = client.chat.completions.create(
        model="any", messages=said, metadata={"conversation": "new", "app": "gen\x00eral"}
    )
    made = Conversation.objects.get(pk=answer.conversation)
    assert (made.system_prompt, made.title) == ("Briefly.", "Hi")


def test_what_only_tunes_the_drawing_of_words_is_passed_over(ask):
    assert ask("Hi", top_p=0.9, seed=4, frequency_penalty=0.5, user="me").choices


def test_without_a_model_nothing_is_saved(ask):
    registry._set(Status(ModelState.MISSING, sentence="There is no model."))
    with pytest.raises(openai.InternalServerError) as problem:
        ask("Hi")
    assert problem.value.status_code == 503
    assert told(problem) == "There is no model."
    assert not Message.objects.exists()


def test_a_model_that_goes_while_it_is_waited_for_is_no_fault_of_the_program(client):
    registry._set(Status(ModelState.AWAY, sentence="It does not answer."))
    with pytest.raises(openai.InternalServerError) as problem:
        client.with_options(max_retries=0).chat.completions.create(
            model="any", messages=[{"role": "user", "content": "Hi"}]
        )
    assert (problem.value.status_code, told(problem)) == (503, "It does not answer.")
    assert problem.value.code == "model_not_ready"
    assert Message.objects.get(role="assistant").failure == "It does not answer."


def test_the_one_model_is_told(client):
    assert [model.id for model in client.models.list()] == ["scripted"]
    assert client.models.retrieve("scripted").owned_by == "memoryapp"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt-9")
