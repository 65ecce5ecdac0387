"""Tool calls and late system messages reach a server in the chat API's form, or as text where it has none."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from chat.errors import ProviderError
from chat.llm.remote.address import parse_address
from chat.llm.remote.provider import RemoteProvider
from chat.llm.remote.transport import Timeouts
from chat.llm.types import GenerationOptions, ToolCall, Turn

from .fake_server import MODELS, chat_endpoint, run_fake_server

TALK = [
    Turn("system", "Be kind."),
    Turn("user", "How warm is it?"),
    Turn("assistant", "", (ToolCall("call_1", "weather", '{"city": "Oslo"}'),)),
    Turn("tool", "8 degrees", call_id="call_1"),
    Turn("assistant", "8 degrees."),
    Turn("system", "Speak French."),
    Turn("user", "Thanks"),
]
AS_TEXT = [
    {"role": "system", "content": "Be kind."},
    {
        "role": "user",
        "content": "How warm is it?\n\n"
        '[Tool call: weather {"city": "Oslo"}]\n\n[Result of weather]\n8 degrees',
    },
    {"role": "assistant", "content": "8 degrees."},
    {"role": "user", "content": "[System message]\nSpeak French.\n\nThanks"},
]


def reading_server(body):
    """Answer with the number of words of the messages as the size of the prompt."""
    answer = chat_endpoint("Hello.")(body)
    if isinstance(answer, dict):
        answer["usage"] = {"prompt_tokens": len(json.dumps(body["messages"]).split())}
    return answer


@contextmanager
def connected(endpoint, **paths):
    """Yield a server with this chat endpoint, and a provider that is connected to it."""
    paths = {"v1__models": MODELS, **paths}
    with run_fake_server(v1__chat__completions=endpoint, **paths) as server:
        provider = RemoteProvider(parse_address(server.url), timeouts=Timeouts(answer=2))
        try:
            provider.connect()
            yield server, provider
        finally:
            provider.close()


def sent_messages(server, provider, turns):
    provider.complete(turns, GenerationOptions(slot="s", max_tokens=10))
    return server.bodies("/v1/chat/completions")[-1]["messages"]


def test_a_server_that_reads_them_gets_them_in_the_chat_apis_form():
    with connected(reading_server) as (server, provider):
        sent = sent_messages(server, provider, TALK)
    assert [m["role"] for m in sent] == [turn.role for turn in TALK]
    [made] = sent[2]["tool_calls"]
    assert made["function"] == {"name": "weather", "arguments": '{"city": "Oslo"}'}
    assert sent[3] == {
        "role": "tool",
        "content": "8 degrees",
        "tool_call_id": made["id"],
        "name": "weather",
    }


def test_a_server_that_does_not_report_the_size_of_a_prompt_gets_text():
    with connected(chat_endpoint("Hello.")) as (server, provider):
        assert sent_messages(server, provider, TALK) == AS_TEXT


def test_a_server_that_drops_them_silently_gets_text():
    def dropping(body):
        known = [m for m in body["messages"] if m["role"] in ("user", "assistant")]
        return reading_server({**body, "messages": [{**m, "tool_calls": None} for m in known]})

    with connected(dropping) as (server, provider):
        assert sent_messages(server, provider, TALK) == AS_TEXT


def test_a_server_that_refuses_a_conversation_gets_it_as_text_from_then_on():
    def refusing(body):
        if body.get("stream") and any("tool_calls" in m for m in body["messages"]):
            return 400, {"error": {"message": "Unexpected message"}}
        return reading_server(body)

    with connected(refusing) as (server, provider):
        assert sent_messages(server, provider, TALK) == AS_TEXT
        before = len(server.bodies("/v1/chat/completions"))
        assert sent_messages(server, provider, TALK) == AS_TEXT
        assert len(server.bodies("/v1/chat/completions")) == before + 1


def test_a_refusal_of_an_ordinary_conversation_is_an_error():
    def refusing(body):
        return (400, {"error": "no"}) if body.get("stream") else reading_server(body)

    with connected(refusing) as (server, provider):
        for turns in ([*TALK[:2]], TALK):
            with pytest.raises(ProviderError, match="refused the request"):
                sent_messages(server, provider, turns)


class TestLlamaServer:
    """A llama-server shows the prompt that its template makes, so nothing has to be generated."""

    def serve(self, template):
        return connected(
            chat_endpoint("Hello."),
            v1__models={"data": [{"id": "m", "owned_by": "llamacpp"}]},
            props={"default_generation_settings": {"n_ctx": 4096}},
            tokenize=lambda body: {"tokens": body["content"].split()},
            **{"apply-template": template},
        )

    def test_its_template_says_what_is_supported(self):
        with self.serve(lambda body: {"prompt": json.dumps(body["messages"])}) as (server, provider):
            assert [m["role"] for m in sent_messages(server, provider, TALK)] == [t.role for t in TALK]

    def test_a_prompt_that_its_template_refuses_is_counted_and_sent_as_text(self):
        def template(body):
            if len([m for m in body["messages"] if m["role"] == "tool"]) > 2:
                return 500, {"error": {"message": "Jinja template: too many tools"}}
            return {"prompt": json.dumps(body["messages"])}

        with self.serve(template) as (server, provider):
            turns = [*TALK[:4], *TALK[2:4], *TALK[2:]]
            assert provider.count_tokens(turns) > 20
            assert "tool" not in {m["role"] for m in sent_messages(server, provider, turns)}
