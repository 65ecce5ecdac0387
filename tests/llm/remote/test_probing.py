"""The abilities of a server are tested by probing, with the dialect of each kind of server."""

from __future__ import annotations

import pytest

from chat.errors import ModelNotReady, ProviderError
from chat.llm.remote.address import parse_address
from chat.llm.remote.protocol import ConstraintSupport
from chat.llm.remote.provider import RemoteProvider
from chat.llm.remote.server_identity import MAX_DEFAULT_WINDOW
from chat.llm.remote.server_use import ServerUse
from chat.llm.remote.transport import Timeouts
from chat.llm.types import GenerationOptions, Turn
from chat.views.model_server import describe_capabilities

from .fake_server import chat_endpoint, run_fake_server

MODELS = {"data": [{"id": "m"}, {"id": "other"}]}
ASK = [Turn("system", "Be brief."), Turn("user", "Where?")]


def probe(server, **how):
    provider = RemoteProvider(parse_address(server.url), timeouts=Timeouts(answer=2), use=ServerUse(**how))
    try:
        return provider.connect()
    finally:
        provider.close()


def constrained_reply(body):
    """Answer as a server that enforces a schema's pattern and enum."""
    if "response_format" not in body:
        return "Hello."
    kind = body["response_format"]["json_schema"]["schema"]["properties"]["answer"]
    return '{"answer":"violet"}' if "pattern" in kind or "enum" in kind else "Hello."


@pytest.mark.model
def test_llama_server_reports_its_window_and_counts_tokens_and_enforces_grammars(remote):
    found = remote.connect()
    assert (found.kind, found.constraint, found.counts_tokens) == (
        "llama-server",
        ConstraintSupport.GRAMMAR,
        True,
    )
    assert (found.window, found.offered, found.slots) == (1024, 1024, 2)
    assert (found.roles.system, found.writes_reasoning, found.embeddings) == (True, False, 0)
    assert "<|im_start|>" in found.control_tokens


@pytest.mark.model
def test_the_abilities_are_described_in_words(remote):
    lines = describe_capabilities(remote.found)
    assert "Its context window has 1,024 tokens." in lines
    assert "It counts tokens itself." in lines
    assert "The server enforces the output formats that memory needs." in lines


def test_for_an_unknown_server_only_tested_abilities_are_used():
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as server:
        found = probe(server)
    assert (found.kind, found.model, found.constraint) == ("other", "m", ConstraintSupport.NONE)
    assert (found.counts_tokens, found.window, found.offered) == (False, 8192, 0)


def test_the_owner_can_set_the_model_and_the_window():
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as server:
        found = probe(server, model="other", window=3000)
        assert (found.model, found.window) == ("other", 3000)
        with pytest.raises(ProviderError, match="no model of this name"):
            probe(server, model="third")


@pytest.mark.parametrize(
    "models",
    [
        (404, b"Cannot GET /v1/models"),
        {"data": []},
        [{"id": "third"}],
        {"data": [{"id": "x", "aliases": ["third"]}]},
    ],
    ids=["no list", "empty", "bare", "alias"],
)
def test_a_configured_model_needs_no_valid_model_list(models):
    with run_fake_server(v1__models=models, v1__chat__completions=chat_endpoint("Hello.")) as server:
        assert probe(server, model="third").model == "third"


def test_ollama_accepts_a_model_name_without_its_tag():
    models = {"data": [{"id": "small:3b"}, {"id": "small:latest"}]}
    with run_fake_server(v1__models=models, v1__chat__completions=chat_endpoint("Hello.")) as server:
        assert probe(server, model="small").model == "small:latest"


def test_a_schema_is_used_if_the_server_enforces_it():
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint(constrained_reply)) as server:
        assert probe(server).constraint is ConstraintSupport.PATTERN

    def lists_only(body):
        kind = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
        return '{"answer": "violet"}' if "enum" in kind.get("answer", {}) else "Hello."

    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint(lists_only)) as server:
        assert probe(server).constraint is ConstraintSupport.SCHEMA


def test_vllm_reports_its_window_and_a_very_large_one_is_limited():
    models = {"data": [{"id": "m", "max_model_len": 131072}]}
    paths = {"version": {"version": "0.11.2"}, "v1__chat__completions": chat_endpoint("Hi.")}
    with run_fake_server(v1__models=models, **paths) as server:
        found = probe(server)
        assert (found.kind, found.offered, found.window) == ("vllm", 131072, MAX_DEFAULT_WINDOW)
        assert (found.slots, found.knows_salt) == (64, True)
        assert probe(server, window=100_000).window == 100_000


@pytest.mark.parametrize(
    ("shown", "loaded", "window"),
    [
        ({"parameters": "num_ctx 16384\nstop x", "model_info": {"llama.context_length": 131072}}, [], 16384),
        ({"parameters": "", "model_info": {"llama.context_length": 131072}}, [], 4096),
        ({"model_info": {"qwen2.context_length": 2048}}, [], 2048),
        ({"model_info": {"a.context_length": 40960}}, [{"model": "m", "context_length": 12000}], 12000),
    ],
)
def test_ollama_reports_the_window_that_it_runs_with(shown, loaded, window):
    paths = {"api__version": {"version": "0.12"}, "api__show": shown, "api__ps": {"models": loaded}}
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hi."), **paths) as server:
        found = probe(server)
        assert (found.kind, found.window, found.offered) == ("ollama", window, window)
        # Ollama would silently cut off a longer prompt.
        assert probe(server, window=100_000).window == window


def test_unsupported_parameters_are_omitted_or_renamed():
    def picky(body):
        if "max_tokens" in body:
            return 400, {"error": {"message": "Use 'max_completion_tokens' instead.", "param": "max_tokens"}}
        if "temperature" in body:
            return 400, {"error": {"message": "Unsupported value: 'temperature' does not support 0."}}
        return chat_endpoint("Hello there.")(body)

    with run_fake_server(v1__models=MODELS, v1__chat__completions=picky) as server:
        provider = RemoteProvider(parse_address(server.url))
        provider.connect()
        assert provider.complete(ASK, GenerationOptions(slot="s", max_tokens=10)).text == "Hello there."
        last = server.bodies("/v1/chat/completions")[-1]
        assert last["max_completion_tokens"] == 10
        assert "temperature" not in last
        provider.close()


def test_a_refused_stream_option_is_omitted():
    def old(body):
        if "stream_options" in body:
            return 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]}
        return chat_endpoint("Hello there.")(body)

    with run_fake_server(v1__models=MODELS, v1__chat__completions=old) as server:
        provider = RemoteProvider(parse_address(server.url))
        provider.connect()
        for _ in range(2):
            assert "".join(provider.stream(ASK, GenerationOptions.for_reply("s"))) == "Hello there."
        sent = [body for body in server.bodies("/v1/chat/completions") if body.get("stream")]
        assert ["stream_options" in body for body in sent] == [True, False, False]
        server.paths["/v1/chat/completions"] = (400, {"error": "temperature"})
        with pytest.raises(ProviderError, match="refused the request"):
            list(provider.stream(ASK, GenerationOptions.for_reply("s")))
        provider.close()


def test_without_a_system_role_the_system_text_goes_to_the_user_message():
    def without_system(body):
        if any(m["role"] == "system" for m in body["messages"]):
            return 400, {"error": {"message": "System role not supported"}}
        return chat_endpoint("Hello.")(body)

    with run_fake_server(v1__models=MODELS, v1__chat__completions=without_system) as server:
        provider = RemoteProvider(parse_address(server.url))
        assert not provider.connect().roles.system
        provider.complete(ASK, GenerationOptions(slot="s"))
        sent = server.bodies("/v1/chat/completions")[-1]["messages"]
        assert sent == [{"role": "user", "content": "Be brief.\n\nWhere?"}]
        provider.close()


def test_a_reasoning_model_gets_extra_tokens_and_its_reasoning_is_removed():
    for endpoint in (
        chat_endpoint("Oslo, I say.", reasoning_content="Where is that?"),
        chat_endpoint("<think>Where is that?</think>\n\nOslo, I say."),
        chat_endpoint("Where is that?</think>\n\nOslo, I say."),
    ):
        with run_fake_server(v1__models=MODELS, v1__chat__completions=endpoint) as server:
            provider = RemoteProvider(parse_address(server.url))
            assert provider.connect().writes_reasoning
            assert (
                "".join(provider.stream(ASK, GenerationOptions.for_reply("s", max_tokens=20)))
                == "Oslo, I say."
            )
            assert server.bodies("/v1/chat/completions")[-1]["max_tokens"] > 1000
            provider.close()


def test_an_embeddings_endpoint_is_detected():
    vectors = {"data": [{"embedding": [0.1] * 12}]}
    with run_fake_server(
        v1__models=MODELS, v1__chat__completions=chat_endpoint("Hi."), v1__embeddings=vectors
    ) as server:
        assert probe(server).embeddings == 12


@pytest.mark.parametrize(
    ("models", "why"),
    [
        ((401, {"error": "no"}), "does not accept the key"),
        ((302, b"", {"location": "http://127.0.0.1:9/v1/models"}), "sends requests on"),
        ((200, b"<html>Welcome</html>"), "is not a model server"),
        ({"models": []}, "is not a model server"),
        ((404, b"Cannot GET /v1/models"), "is not a model server"),
        ({"data": []}, "lists no model"),
        ({"object": "list", "data": None}, "lists no model"),
        ([1], "is not a model server"),
        ((500, {}), "refused the request"),
    ],
)
def test_a_server_that_is_no_model_server_is_reported(models, why):
    with run_fake_server(v1__models=models) as server, pytest.raises(ProviderError, match=why):
        probe(server)
    # Redirects are not followed: the key would be sent along.
    assert [path for path, _body, _headers in server.asked] == ["/v1/models"]


def test_an_unreachable_server_is_reported_as_unreachable():
    provider = RemoteProvider(parse_address("http://127.0.0.1:9"))
    with pytest.raises(ModelNotReady, match="Couldn't reach the model"):
        provider.connect()
    with pytest.raises(ModelNotReady):
        provider.count_text("x")
    provider.close()


def test_the_key_is_sent_to_the_server_and_never_logged(caplog):
    caplog.set_level("DEBUG")
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as server:
        provider = RemoteProvider(parse_address(server.url), key="sk-very-secret")
        provider.connect()
        list(provider.stream(ASK, GenerationOptions.for_reply("s")))
        assert {h["Authorization"] for _path, _body, h in server.asked} == {"Bearer sk-very-secret"}
        assert "sk-very-secret" not in caplog.text + repr(provider) + repr(provider.__dict__)
        provider.close()


def test_an_invalid_response_is_an_error_and_no_crash():
    odd = {"data": [{"id": "m", "aliases": None}]}
    for model, answer in (
        ("another", {"choices": {"a": 1}}),
        ("m", {"choices": {"a": 1}}),
        ("m", {"choices": []}),
    ):
        with (
            run_fake_server(v1__models=odd, v1__chat__completions=answer) as server,
            pytest.raises(ProviderError),
        ):
            probe(server, model=model)
