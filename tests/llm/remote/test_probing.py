"""What a server can do is tried, not believed; each kind of server in its own tongue."""

from __future__ import annotations

import pytest

from chat.llm.remote.address import parse
from chat.llm.remote.capabilities import MOST_WINDOW, Binding
from chat.llm.remote.provider import RemoteProvider
from chat.llm.remote.wire import Patience
from chat.llm.types import ModelNotReady, ProviderError, Turn
from chat.views.provider import told

from .pretend import chat, pretending

MODELS = {"data": [{"id": "m"}, {"id": "other"}]}
ASK = [Turn("system", "Be brief."), Turn("user", "Where?")]


def found_at(server, **how):
    provider = RemoteProvider(parse(server.url), patience=Patience(answer=2), **how)
    try:
        return provider.connect()
    finally:
        provider.close()


def obedient(body):
    """A model that is held to a schema's pattern and list of words."""
    if "response_format" not in body:
        return "Hello."
    kind = body["response_format"]["json_schema"]["schema"]["properties"]["answer"]
    return '{"answer":"violet"}' if "pattern" in kind or "enum" in kind else "Hello."


@pytest.mark.model
def test_llama_server_tells_its_window_counts_and_obeys_grammars(remote):
    found = remote.connect()
    assert (found.kind, found.binding, found.counts) == ("llama-server", Binding.GRAMMAR, True)
    assert (found.window, found.offered, found.places) == (1024, 1024, 2)
    assert (found.takes_system, found.thinks, found.embeddings) == (True, False, 0)
    assert "<|im_start|>" in found.marks


@pytest.mark.model
def test_what_was_found_is_told_in_words(remote):
    lines = told(remote.found)
    assert "It reads 1,024 tokens at once." in lines
    assert "It counts tokens itself." in lines
    assert "Memory's notes are held to their form by the server." in lines


def test_of_an_unknown_server_only_what_was_tried_is_relied_on():
    with pretending(v1__models=MODELS, v1__chat__completions=chat("Hello.")) as server:
        found = found_at(server)
    assert (found.kind, found.model, found.binding) == ("other", "m", Binding.NONE)
    assert (found.counts, found.window, found.offered) == (False, 8192, 0)


def test_the_owner_can_name_the_model_and_the_window():
    with pretending(v1__models=MODELS, v1__chat__completions=chat("Hello.")) as server:
        found = found_at(server, model="other", window=3000)
        assert (found.model, found.window) == ("other", 3000)
        with pytest.raises(ProviderError, match="no model of this name"):
            found_at(server, model="third")


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
def test_a_model_that_is_named_needs_no_proper_list(models):
    with pretending(v1__models=models, v1__chat__completions=chat("Hello.")) as server:
        assert found_at(server, model="third").model == "third"


def test_ollama_takes_a_name_without_its_tag():
    models = {"data": [{"id": "small:3b"}, {"id": "small:latest"}]}
    with pretending(v1__models=models, v1__chat__completions=chat("Hello.")) as server:
        assert found_at(server, model="small").model == "small:latest"


def test_a_schema_is_relied_on_where_it_is_obeyed():
    with pretending(v1__models=MODELS, v1__chat__completions=chat(obedient)) as server:
        assert found_at(server).binding is Binding.PATTERN

    def lists_only(body):
        kind = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
        return '{"answer": "violet"}' if "enum" in kind.get("answer", {}) else "Hello."

    with pretending(v1__models=MODELS, v1__chat__completions=chat(lists_only)) as server:
        assert found_at(server).binding is Binding.SCHEMA


def test_vllm_tells_its_window_and_a_huge_one_is_used_in_part():
    models = {"data": [{"id": "m", "max_model_len": 131072}]}
    with pretending(v1__models=models, v1__chat__completions=chat("Hi.")) as server:
        found = found_at(server)
        assert (found.kind, found.offered, found.window) == ("vllm", 131072, MOST_WINDOW)
        assert found_at(server, window=100_000).window == 100_000


@pytest.mark.parametrize(
    ("shown", "loaded", "window"),
    [
        ({"parameters": "num_ctx 16384\nstop x", "model_info": {"llama.context_length": 131072}}, [], 16384),
        ({"parameters": "", "model_info": {"llama.context_length": 131072}}, [], 4096),
        ({"model_info": {"qwen2.context_length": 2048}}, [], 2048),
        ({"model_info": {"a.context_length": 40960}}, [{"model": "m", "context_length": 12000}], 12000),
    ],
)
def test_ollama_is_asked_with_which_window_it_really_runs(shown, loaded, window):
    paths = {"api__version": {"version": "0.12"}, "api__show": shown, "api__ps": {"models": loaded}}
    with pretending(v1__models=MODELS, v1__chat__completions=chat("Hi."), **paths) as server:
        found = found_at(server)
        assert (found.kind, found.window, found.offered) == ("ollama", window, window)
        # More than it runs with would be cut off in silence.
        assert found_at(server, window=100_000).window == window


def test_parameters_that_a_server_does_not_take_are_left_out_or_renamed():
    def picky(body):
        if "max_tokens" in body:
            return 400, {"error": {"message": "Use 'max_completion_tokens' instead.", "param": "max_tokens"}}
        if "temperature" in body:
            return 400, {"error": {"message": "Unsupported value: 'temperature' does not support 0."}}
        return chat("Hello there.")(body)

    with pretending(v1__models=MODELS, v1__chat__completions=picky) as server:
        provider = RemoteProvider(parse(server.url))
        provider.connect()
        assert provider.complete(ASK, slot="s", max_tokens=10).text == "Hello there."
        last = server.bodies("/v1/chat/completions")[-1]
        assert last["max_completion_tokens"] == 10
        assert "temperature" not in last
        provider.close()


def test_what_is_only_sent_with_a_stream_is_left_out_where_it_is_refused():
    def old(body):
        if "stream_options" in body:
            return 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]}
        return chat("Hello there.")(body)

    with pretending(v1__models=MODELS, v1__chat__completions=old) as server:
        provider = RemoteProvider(parse(server.url))
        provider.connect()
        for _ in range(2):
            assert "".join(provider.stream(ASK, slot="s")) == "Hello there."
        sent = [body for body in server.bodies("/v1/chat/completions") if body.get("stream")]
        assert ["stream_options" in body for body in sent] == [True, False, False]
        server.paths["/v1/chat/completions"] = (400, {"error": "temperature"})
        with pytest.raises(ProviderError, match="refused the request"):
            list(provider.stream(ASK, slot="s"))
        provider.close()


def test_where_no_system_message_is_taken_it_goes_to_the_user():
    def without_system(body):
        if any(m["role"] == "system" for m in body["messages"]):
            return 400, {"error": {"message": "System role not supported"}}
        return chat("Hello.")(body)

    with pretending(v1__models=MODELS, v1__chat__completions=without_system) as server:
        provider = RemoteProvider(parse(server.url))
        assert not provider.connect().takes_system
        provider.complete(ASK, slot="s")
        sent = server.bodies("/v1/chat/completions")[-1]["messages"]
        assert sent == [{"role": "user", "content": "Be brief.\n\nWhere?"}]
        provider.close()


def test_a_reasoning_model_gets_room_for_its_thoughts_and_they_stay_out_of_the_reply():
    for endpoint in (
        chat("Oslo, I say.", reasoning_content="Where is that?"),
        chat("<think>Where is that?</think>\n\nOslo, I say."),
        chat("Where is that?</think>\n\nOslo, I say."),
    ):
        with pretending(v1__models=MODELS, v1__chat__completions=endpoint) as server:
            provider = RemoteProvider(parse(server.url))
            assert provider.connect().thinks
            assert "".join(provider.stream(ASK, slot="s", max_tokens=20)) == "Oslo, I say."
            assert server.bodies("/v1/chat/completions")[-1]["max_tokens"] > 1000
            provider.close()


def test_vectors_of_the_server_are_noticed():
    vectors = {"data": [{"embedding": [0.1] * 12}]}
    with pretending(v1__models=MODELS, v1__chat__completions=chat("Hi."), v1__embeddings=vectors) as server:
        assert found_at(server).embeddings == 12


@pytest.mark.parametrize(
    ("models", "why"),
    [
        ((401, {"error": "no"}), "does not accept the key"),
        ((302, b"", {"location": "http://127.0.0.1:9/v1/models"}), "sends requests on"),
        ((200, b"<html>Welcome</html>"), "does not answer as a model's server"),
        ({"models": []}, "does not answer as a model's server"),
        ((404, b"Cannot GET /v1/models"), "does not answer as a model's server"),
        ({"data": []}, "lists no model"),
        ({"object": "list", "data": None}, "lists no model"),
        ([1], "does not answer as a model's server"),
        ((500, {}), "refused the request"),
    ],
)
def test_what_is_no_model_server_is_told_in_a_sentence(models, why):
    with pretending(v1__models=models) as server, pytest.raises(ProviderError, match=why):
        found_at(server)
    # A redirect is not followed, whatever it says: the key would go with it.
    assert [path for path, _body, _headers in server.asked] == ["/v1/models"]


def test_nobody_there_is_another_thing():
    provider = RemoteProvider(parse("http://127.0.0.1:9"))
    with pytest.raises(ModelNotReady, match="Couldn't reach the model"):
        provider.connect()
    with pytest.raises(ModelNotReady):
        provider.count_text("x")
    provider.close()


def test_the_key_goes_to_the_server_and_into_no_log(caplog):
    caplog.set_level("DEBUG")
    with pretending(v1__models=MODELS, v1__chat__completions=chat("Hello.")) as server:
        provider = RemoteProvider(parse(server.url), key="sk-very-secret")
        provider.connect()
        list(provider.stream(ASK, slot="s"))
        assert {h["Authorization"] for _path, _body, h in server.asked} == {"Bearer sk-very-secret"}
        assert "sk-very-secret" not in caplog.text + repr(provider) + repr(provider.__dict__)
        provider.close()


def test_whatever_an_address_says_it_is_a_sentence_and_no_crash():
    odd = {"data": [{"id": "m", "aliases": None}]}
    for model, answer in (
        ("another", {"choices": {"a": 1}}),
        ("m", {"choices": {"a": 1}}),
        ("m", {"choices": []}),
    ):
        with pretending(v1__models=odd, v1__chat__completions=answer) as server, pytest.raises(ProviderError):
            found_at(server, model=model)
