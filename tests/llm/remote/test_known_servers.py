"""What a probe has found is used again: at a reconnect, and by the next process."""

from __future__ import annotations

import json
import threading

import pytest

from chat.errors import ProviderError
from chat.llm.model_status import ModelState
from chat.llm.registry import Registry
from chat.llm.remote.address import parse_address
from chat.llm.remote.known_servers import KnownServers
from chat.llm.remote.protocol import ConstraintSupport
from chat.llm.remote.provider import RemoteProvider
from chat.llm.remote.server_use import ServerUse
from chat.llm.types import GenerationOptions
from tests.waiting import wait_until

from .fake_server import MODELS, STORY_TURNS, chat_endpoint, run_fake_server

CHAT = "/v1/chat/completions"


def list_model(name="m"):
    return {"data": [{"id": name, "owned_by": "llamacpp", "created": 1}]}


def describe(build="b1", slots=2):
    settings = {"default_generation_settings": {"n_ctx": 4096}}
    return {"build_info": build, "total_slots": slots, "chat_template": "{{ x }}", **settings}


def endpoint(body):
    """Answer as a llama-server that enforces a grammar."""
    return chat_endpoint("violet" if "grammar" in body else "Hello.")(body)


@pytest.fixture
def server():
    """A llama-server with two slots."""
    with run_fake_server(v1__models=list_model(), props=describe(), v1__chat__completions=endpoint) as server:
        yield server


@pytest.fixture
def use(tmp_path):
    """The use of a process that stores what it finds."""
    return ServerUse(known_servers=KnownServers(tmp_path / "known.json"))


def count_probes(server):
    """Return how many answers of the model were asked for to try the server; replies are streamed."""
    return sum(not body.get("stream") for body in server.bodies(CHAT))


def ask(provider):
    return "".join(provider.stream(STORY_TURNS, GenerationOptions.for_reply("chat")))


def reconnect(provider):
    provider.servers[0].needs_reconnect.set()
    return provider.servers[0].connect()


def test_a_server_that_comes_back_with_its_model_is_used_without_another_probe(connected, server):
    provider = connected(server)
    before, first = count_probes(server), provider.found
    assert before > 2
    assert reconnect(provider) == first
    assert count_probes(server) == before
    assert ask(provider) == "Hello."


def test_a_server_that_comes_back_with_another_model_is_probed(connected, server):
    provider = connected(server)
    before = count_probes(server)
    server.paths["/v1/models"] = list_model("new")
    assert reconnect(provider).model == "new"
    assert count_probes(server) > before


def test_a_server_that_fails_again_without_an_answer_in_between_is_probed(connected, server):
    provider = connected(server)
    before = count_probes(server)
    reconnect(provider)
    ask(provider)
    reconnect(provider)
    assert count_probes(server) == before
    reconnect(provider)
    assert count_probes(server) > before


def test_a_server_that_refused_the_key_of_a_call_is_probed(connected, server):
    provider = connected(server)
    server.paths[CHAT] = (401, {})
    with pytest.raises(ProviderError) as refused:
        ask(provider)
    provider.servers[0].note_outage(refused.value)
    with pytest.raises(ProviderError, match="does not accept the key"):
        provider.servers[0].connect()


def test_a_server_that_answers_as_another_model_is_probed(connected, server):
    provider = connected(server)
    before = count_probes(server)
    server.paths[CHAT] = lambda body: iter(
        [{"model": "new", "choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]}]
    )
    ask(provider)
    assert provider.servers[0].needs_reconnect.is_set()
    server.paths[CHAT] = endpoint
    provider.servers[0].connect()
    assert count_probes(server) > before


def test_the_next_process_uses_a_server_without_a_probe(connected, server, use):
    first = connected(server, use=use).found
    assert first.constraint is ConstraintSupport.GRAMMAR
    before = count_probes(server)
    next_process = connected(server, use=use)
    assert next_process.found == first
    assert count_probes(server) == before
    assert ask(next_process) == "Hello."


def test_the_next_process_probes_where_its_first_call_fails(connected, server, use):
    connected(server, use=use)
    next_process = connected(server, use=use)
    before = count_probes(server)
    reconnect(next_process)
    assert count_probes(server) > before


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"format": 0, "servers": {}}', b'{"format": 1, "servers": {"k": 1}}', b"\xff"]
)
def test_a_file_that_cannot_be_read_counts_as_empty(connected, server, use, tmp_path, content):
    (tmp_path / "known.json").write_bytes(content)
    connected(server, use=use)
    assert count_probes(server) > 2
    assert json.loads((tmp_path / "known.json").read_bytes())["format"] == 1


def test_an_entry_that_cannot_be_read_counts_as_none(connected, server, use, tmp_path):
    connected(server, use=use)
    path = tmp_path / "known.json"
    stored = json.loads(path.read_bytes())
    for entry in stored["servers"].values():
        entry["roles"] = {"odd": True}
    path.write_text(json.dumps(stored))
    before = count_probes(server)
    connected(server, use=use)
    assert count_probes(server) > before


def test_the_file_holds_no_address(connected, server, use, tmp_path):
    connected(server, use=use)
    assert "127.0.0.1" not in (tmp_path / "known.json").read_text()
    assert (tmp_path / "known.json").stat().st_mode & 0o077 == 0


def test_a_server_with_another_version_is_used_at_once_and_probed_meanwhile(connected, server, use):
    connected(server, use=use)
    before, held = count_probes(server), threading.Event()

    def slow(body):
        if not body.get("stream"):
            held.wait(10)
        return chat_endpoint("Hello.")(body)

    server.paths |= {"/props": describe(build="b2", slots=3), CHAT: slow}
    registry = Registry()
    registry.connect(RemoteProvider(parse_address(server.url), use=use))
    try:
        wait_until(lambda: registry.status().state is ModelState.READY)
        provider = registry.provider()
        # What it says about itself holds at once, what was tried is that of the earlier version.
        assert (provider.places, provider.found.constraint) == (3, ConstraintSupport.GRAMMAR)
        assert ask(provider) == "Hello."
        held.set()
        wait_until(lambda: provider.found.constraint is ConstraintSupport.NONE)
        assert count_probes(server) > before
        assert registry.status().state is ModelState.READY
    finally:
        held.set()
        registry.close()


def test_the_time_of_a_list_of_models_does_not_count(connected, server, use):
    connected(server, use=use)
    server.paths["/v1/models"] = {"data": [{**list_model()["data"][0], "created": 2}]}
    next_process = connected(server, use=use)
    assert not next_process.servers[0].verify()


def test_a_hosted_server_that_describes_nothing_is_known_by_its_model(connected, use):
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as server:
        connected(server, use=use)
        before = count_probes(server)
        connected(server, use=use)
        assert count_probes(server) == before
