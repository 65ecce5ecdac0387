"""The states of the model that the registry reports, from missing to ready."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

from chat.errors import ModelNotReady, ProviderError
from chat.llm import llama, weights
from chat.llm.model_status import ModelState
from chat.llm.registry import Registry
from chat.llm.remote.address import parse_address
from chat.llm.remote.provider import RemoteProvider
from chat.llm.scripted import ScriptedProvider
from chat.llm.types import GenerationOptions, Turn
from tests.llm.remote.fake_server import chat_endpoint, run_fake_server
from tests.waiting import wait_until


class FakeEngine:
    """An engine that is ready when the test says so."""

    def __init__(self) -> None:
        self.ready = threading.Event()
        self.started = False

    def start(self) -> None:
        self.started = True


class FakeProvider(ScriptedProvider):
    """A provider whose model is loading."""

    def __init__(self, name, path, *, window, on_error, before_load, **_options) -> None:
        super().__init__(name=name, context_window=window)
        self.engine, self.on_error, self.closed = FakeEngine(), on_error, False
        self.source, self.before_load = (path, window), before_load
        made.append(self)

    def close(self) -> None:
        self.closed = True


made: list[FakeProvider] = []


@pytest.fixture
def registry(monkeypatch) -> Registry:
    """A registry that has loaded nothing and would load a FakeProvider."""
    made.clear()
    monkeypatch.setattr(llama, "LlamaProvider", FakeProvider)
    monkeypatch.setattr(weights, "is_present", lambda entry: False)
    return Registry()


@pytest.fixture
def weights_present(monkeypatch, tmp_path):
    """The weights of the chosen model are present."""
    monkeypatch.setenv("MODEL", "smollm2-135m")
    monkeypatch.setattr(weights, "require", lambda entry: tmp_path / "model.gguf")


@pytest.fixture
def reported_states(registry) -> list[ModelState]:
    """The states that a listener received, in order."""
    states: list[ModelState] = []
    registry.add_listener(lambda status: states.append(status.state))
    return states


def test_before_loading_a_call_is_refused(registry):
    with pytest.raises(ModelNotReady, match="No model is loaded"):
        registry.provider()


def test_missing_weights_are_reported_with_the_command_that_fetches_them(
    registry, reported_states, monkeypatch
):
    def require(entry):
        raise weights.WeightsMissing(entry.name)

    monkeypatch.setattr(weights, "require", require)
    registry.load()
    status = registry.status()
    assert status.state is ModelState.MISSING
    assert "are not on this machine" in status.sentence
    assert status.command == "python3 manage.py weights fetch qwen2.5-coder-1.5b"
    assert reported_states == [ModelState.MISSING]
    with pytest.raises(ModelNotReady, match="not on this machine"):
        registry.provider()
    assert not registry.wait_ready(0)


def test_load_returns_at_once_and_messages_can_already_be_written(registry, weights_present):
    registry.load(window=4096)
    status = registry.status()
    assert (status.state, status.name) == (ModelState.LOADING, "smollm2-135m")
    assert "You can write already" in status.sentence
    assert made[0].engine.started
    assert not registry.wait_ready(0)
    made[0].engine.ready.set()


def test_a_loaded_model_is_ready_and_listeners_are_told(registry, weights_present, reported_states):
    registry.load(window=4096)
    made[0].engine.ready.set()
    assert registry.wait_ready(10)
    assert registry.provider() is made[0]
    wait_until(lambda: reported_states == [ModelState.LOADING, ModelState.READY])


def test_wait_ready_returns_when_the_model_is_ready(registry, weights_present):
    registry.load(window=4096)
    woken: list[bool] = []
    thread = threading.Thread(target=lambda: woken.append(registry.wait_ready(10)))
    thread.start()
    made[0].engine.ready.set()
    thread.join(10)
    assert woken == [True]


def test_a_failure_is_reported_with_a_command_to_find_its_cause(registry, weights_present, reported_states):
    registry.load(window=4096)
    made[0].on_error(ProviderError("verbatim", sentence="There is not enough memory for the model's window."))
    status = registry.status()
    assert status.state is ModelState.FAILED
    assert status.sentence == (
        "The model could not be loaded. There is not enough memory for the model's window."
    )
    assert status.command == "python3 manage.py doctor"
    assert reported_states == [ModelState.LOADING, ModelState.FAILED]
    assert not registry.wait_ready(10)
    with pytest.raises(ModelNotReady, match="not enough memory"):
        registry.provider()


def test_another_model_can_replace_it_at_run_time(registry):
    registry.use(ScriptedProvider(name="first"))
    second = ScriptedProvider(name="second", remote=True)
    registry.use(second, label="The second")
    assert registry.provider() is second
    assert (registry.status().label, registry.status().remote) == ("The second", True)


def test_closing_stops_the_engine_while_it_loads(registry, weights_present):
    registry.load(window=4096)
    registry.close()
    assert made[0].closed
    made[0].engine.ready.set()


def test_without_an_embedder_there_is_none(registry, weights_present):
    registry.load(window=4096)
    assert registry.embedder() is None
    made[0].engine.ready.set()


def test_an_unknown_embedder_does_not_stop_the_model(registry, weights_present, monkeypatch, caplog):
    monkeypatch.setenv("EMBEDDER", "word2vec")
    registry.load(window=4096)
    assert registry.embedder() is None
    assert "no model named 'word2vec'" in caplog.text
    made[0].engine.ready.set()
    assert registry.wait_ready(10)


MODELS = {"data": [{"id": "/models/fox-1b.gguf"}]}


def test_a_server_replaces_the_loaded_model_after_its_running_reply(
    registry, weights_present, reported_states
):
    registry.load(window=4096)
    made[0].engine.ready.set()
    assert registry.wait_ready(10)
    with (
        ExitStack() as reply,
        run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as server,
    ):
        assert reply.enter_context(registry.hold_provider()) is made[0]
        address = parse_address(server.url)
        remote = RemoteProvider(address)
        registry.connect(remote)
        assert registry.wait_ready(10)
        assert registry.provider() is remote
        status = registry.status()
        assert (status.remote, status.host, status.label) == (True, address.host, "fox-1b")
        assert not made[0].closed
        reply.close()
        wait_until(lambda: made[0].closed)
        registry.close()
    assert reported_states[-2:] == [ModelState.LOADING, ModelState.READY]


def test_choosing_the_loaded_model_again_during_its_last_reply_does_not_load_it_twice(
    registry, weights_present
):
    registry.load(window=4096)
    made[0].engine.ready.set()
    assert registry.wait_ready(10)
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as server:
        with registry.hold_provider():
            registry.connect(RemoteProvider(parse_address(server.url)))
            registry.load(window=4096)
            assert registry.provider() is made[0]
        assert (len(made), made[0].closed) == (1, False)
        registry.close()
    assert made[0].closed


def test_a_model_is_tested_before_loading_and_the_previous_one_is_closed(registry, weights_present):
    proven: list[object] = []
    registry.load(window=4096)
    registry.load(window=4096, run_selftest=proven.append)
    made[1].before_load("/models/a.gguf")
    assert (made[0].closed, proven) == (True, ["/models/a.gguf"])
    for one in made:
        one.engine.ready.set()


def test_a_model_that_is_ready_too_late_is_not_used(registry, weights_present):
    registry.load(window=4096)
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as server:
        remote = RemoteProvider(parse_address(server.url))
        registry.connect(remote)
        made[0].on_error(ProviderError("verbatim", sentence="Too late."))
        made[0].engine.ready.set()
        assert registry.wait_ready(10)
        wait_until(lambda: made[0].closed)
        assert registry.provider() is remote
        registry.close()


def test_an_unreachable_server_is_reported_and_used_when_it_is_back(registry, reported_states):
    here = threading.Event()

    def listed(body):
        return MODELS if here.is_set() else (503, {"error": "Loading model"})

    with run_fake_server(v1__models=listed, v1__chat__completions=chat_endpoint("Hello.")) as server:
        registry.connect(RemoteProvider(parse_address(server.url)))
        wait_until(lambda: registry.status().state is ModelState.AWAY)
        assert "still loading" in registry.status().sentence
        with pytest.raises(ModelNotReady, match="still loading"):
            registry.provider()
        here.set()
        registry.retry_connection()
        wait_until(lambda: registry.status().state is ModelState.READY)
        # A failed call also makes the registry check the server.
        here.clear()
        registry.provider().servers[0].needs_reconnect.set()
        wait_until(lambda: registry.status().state is ModelState.AWAY)
        registry.close()
    assert reported_states == [ModelState.LOADING, ModelState.AWAY, ModelState.READY, ModelState.AWAY]


def test_an_unreachable_server_is_retried_and_the_message_is_saved(registry):
    registry.connect(RemoteProvider(parse_address("http://127.0.0.1:9")))
    wait_until(lambda: registry.status().state is ModelState.AWAY)
    assert "cannot be reached" in registry.status().sentence
    with pytest.raises(ModelNotReady, match="Your message is saved"):
        registry.provider()
    registry.close()


def test_a_failing_listener_does_not_stop_connecting(registry, reported_states, caplog):
    def broken(status):
        raise RuntimeError("no loop")

    registry.add_listener(broken)
    listed = iter([(503, {"error": "Loading model"}), MODELS])
    with run_fake_server(
        v1__models=lambda body: next(listed), v1__chat__completions=chat_endpoint("Hello.")
    ) as server:
        registry.connect(RemoteProvider(parse_address(server.url)))
        wait_until(lambda: registry.status().state is ModelState.READY)
        registry.close()
    assert reported_states == [ModelState.LOADING, ModelState.AWAY, ModelState.READY]
    assert "a listener failed" in caplog.text


def test_late_responses_of_a_replaced_server_are_ignored(registry, reported_states):
    asked, held = threading.Event(), threading.Event()

    def slow(body):
        asked.set()
        held.wait(10)
        return MODELS

    with run_fake_server(v1__models=slow, v1__chat__completions=chat_endpoint("Hello.")) as server:
        registry.connect(RemoteProvider(parse_address(server.url)))
        monitor = registry._monitor
        assert asked.wait(10)
        registry.use(ScriptedProvider())
        registry._monitor = None
        held.set()
        monitor._ready()
        monitor._away(ProviderError("verbatim", sentence="Too late."))
    assert reported_states == [ModelState.LOADING, ModelState.READY]
    assert not registry.status().remote
    monitor.stop()


def test_a_refused_key_is_reported(registry):
    with run_fake_server(v1__models=(401, {})) as server:
        registry.connect(RemoteProvider(parse_address(server.url), key="wrong"))
        wait_until(lambda: registry.status().state is ModelState.AWAY)
        with pytest.raises(ModelNotReady, match="does not accept the key"):
            registry.provider()
        registry.close()


def test_after_returning_to_the_local_model_the_server_gets_no_more_requests(registry, weights_present):
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as server:
        remote = RemoteProvider(parse_address(server.url))
        registry.connect(remote)
        assert registry.wait_ready(10)
        registry.load(window=4096)
        with pytest.raises(ModelNotReady, match="is loading"):
            registry.provider()
        made[0].engine.ready.set()
        assert registry.wait_ready(10)
        assert not registry.status().remote
        asked = len(server.asked)
        wait_until(lambda: remote._queue.closed)
        late = remote.stream([Turn("user", "x")], GenerationOptions.for_reply("s"))
        assert list(late) == []
        assert late.finish == "cancelled"
        assert len(server.asked) == asked
        registry.close()
