"""What the page is told about the model, from missing to ready."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest

from chat.llm import llama, weights
from chat.llm.registry import Registry
from chat.llm.remote.address import parse
from chat.llm.remote.provider import RemoteProvider
from chat.llm.scripted import ScriptedProvider
from chat.llm.state import ModelState
from chat.llm.types import ModelNotReady, ProviderError, Turn
from tests.llm.remote.pretend import chat, pretending
from tests.waiting import until


class FakeEngine:
    """Loads when the test says so."""

    def __init__(self) -> None:
        self.ready = threading.Event()
        self.started = False

    def start(self) -> None:
        self.started = True


class FakeProvider(ScriptedProvider):
    """A model that is being loaded."""

    def __init__(self, name, path, *, window, threads, on_error, lot, first) -> None:
        super().__init__(name=name, context_window=window)
        self.engine, self.on_error, self.closed = FakeEngine(), on_error, False
        self.source, self.first = (path, window), first
        made.append(self)

    def close(self) -> None:
        self.closed = True


made: list[FakeProvider] = []


@pytest.fixture
def registry(monkeypatch) -> Registry:
    """A registry that has loaded nothing, and would load a fake."""
    made.clear()
    monkeypatch.setattr(llama, "LlamaProvider", FakeProvider)
    monkeypatch.setattr(weights, "is_present", lambda entry: False)
    return Registry()


@pytest.fixture
def present(monkeypatch, tmp_path):
    """The chosen model's file is there."""
    monkeypatch.setenv("MODEL", "smollm2-135m")
    monkeypatch.setattr(weights, "require", lambda entry: tmp_path / "model.gguf")


@pytest.fixture
def told(registry) -> list[ModelState]:
    """The states that a listener was told of, in order."""
    states: list[ModelState] = []
    registry.on_change(lambda status: states.append(status.state))
    return states


def test_before_anything_is_loaded_a_call_says_so(registry):
    with pytest.raises(ModelNotReady, match="No model is loaded"):
        registry.provider()


def test_missing_weights_are_a_sentence_and_the_command_that_brings_them(registry, told, monkeypatch):
    def require(entry):
        raise weights.Missing(entry.name)

    monkeypatch.setattr(weights, "require", require)
    registry.load()
    status = registry.status()
    assert status.state is ModelState.MISSING
    assert "are not on this machine" in status.sentence
    assert status.command == "python3 manage.py weights fetch qwen2.5-coder-1.5b"
    assert told == [ModelState.MISSING]
    with pytest.raises(ModelNotReady, match="not on this machine"):
        registry.provider()
    assert not registry.wait_ready(0)


def test_loading_returns_at_once_and_says_that_one_can_write_already(registry, present):
    registry.load(window=4096)
    status = registry.status()
    assert (status.state, status.name) == (ModelState.LOADING, "smollm2-135m")
    assert "You can write already" in status.sentence
    assert made[0].engine.started
    assert not registry.wait_ready(0)
    made[0].engine.ready.set()


def test_when_it_is_loaded_it_is_ready_and_everybody_is_told(registry, present, told):
    registry.load(window=4096)
    made[0].engine.ready.set()
    assert registry.wait_ready(10)
    assert registry.provider() is made[0]
    until(lambda: told == [ModelState.LOADING, ModelState.READY])


def test_who_waits_is_woken_when_the_model_is_ready(registry, present):
    registry.load(window=4096)
    woken: list[bool] = []
    thread = threading.Thread(target=lambda: woken.append(registry.wait_ready(10)))
    thread.start()
    made[0].engine.ready.set()
    thread.join(10)
    assert woken == [True]


def test_a_failure_is_a_sentence_and_the_command_that_finds_its_cause(registry, present, told):
    registry.load(window=4096)
    made[0].on_error(ProviderError("There is not enough memory for the model's window."))
    status = registry.status()
    assert status.state is ModelState.FAILED
    assert status.sentence == (
        "The model could not be loaded. There is not enough memory for the model's window."
    )
    assert status.command == "python3 manage.py doctor"
    assert told == [ModelState.LOADING, ModelState.FAILED]
    assert not registry.wait_ready(10)
    with pytest.raises(ModelNotReady, match="not enough memory"):
        registry.provider()


def test_another_model_can_take_its_place_at_run_time(registry):
    registry.use(ScriptedProvider(name="first"))
    second = ScriptedProvider(name="second", remote=True)
    registry.use(second, label="The second")
    assert registry.provider() is second
    assert (registry.status().label, registry.status().remote) == ("The second", True)


def test_closing_stops_the_engine_also_while_it_loads(registry, present):
    registry.load(window=4096)
    registry.close()
    assert made[0].closed
    made[0].engine.ready.set()


def test_without_an_embedder_memory_has_none(registry, present):
    registry.load(window=4096)
    assert registry.embedder() is None
    made[0].engine.ready.set()


MODELS = {"data": [{"id": "/models/fox-1b.gguf"}]}


def test_a_server_takes_the_place_of_the_loaded_model_which_ends_its_reply_first(registry, present, told):
    registry.load(window=4096)
    made[0].engine.ready.set()
    assert registry.wait_ready(10)
    with ExitStack() as reply, pretending(v1__models=MODELS, v1__chat__completions=chat("Hello.")) as server:
        assert reply.enter_context(registry.lend()) is made[0]
        address = parse(server.url)
        remote = RemoteProvider(address)
        registry.connect(remote)
        assert registry.wait_ready(10)
        assert registry.provider() is remote
        status = registry.status()
        assert (status.remote, status.host, status.label) == (True, address.host, "fox-1b")
        assert not made[0].closed
        reply.close()
        until(lambda: made[0].closed)
        registry.close()
    assert told[-2:] == [ModelState.LOADING, ModelState.READY]


def test_back_while_it_still_ends_a_reply_the_loaded_model_is_not_loaded_twice(registry, present):
    registry.load(window=4096)
    made[0].engine.ready.set()
    assert registry.wait_ready(10)
    with pretending(v1__models=MODELS, v1__chat__completions=chat("Hello.")) as server:
        with registry.lend():
            registry.connect(RemoteProvider(parse(server.url)))
            registry.load(window=4096)
            assert registry.provider() is made[0]
        assert (len(made), made[0].closed) == (1, False)
        registry.close()
    assert made[0].closed


def test_before_a_model_is_loaded_it_is_proven_and_the_one_before_it_has_gone(registry, present):
    proven = []
    registry.load(window=4096)
    registry.load(window=4096, prove=proven.append)
    made[1].first("/models/a.gguf")
    assert (made[0].closed, proven) == (True, ["/models/a.gguf"])
    for one in made:
        one.engine.ready.set()


def test_a_model_that_is_ready_too_late_stays_out(registry, present):
    registry.load(window=4096)
    with pretending(v1__models=MODELS, v1__chat__completions=chat("Hello.")) as server:
        remote = RemoteProvider(parse(server.url))
        registry.connect(remote)
        made[0].on_error(ProviderError("Too late."))
        made[0].engine.ready.set()
        assert registry.wait_ready(10)
        until(lambda: made[0].closed)
        assert registry.provider() is remote
        registry.close()


def test_a_server_that_is_away_is_said_so_and_comes_back_by_itself(registry, told):
    here = threading.Event()

    def listed(body):
        return MODELS if here.is_set() else (503, {"error": "Loading model"})

    with pretending(v1__models=listed, v1__chat__completions=chat("Hello.")) as server:
        registry.connect(RemoteProvider(parse(server.url)))
        until(lambda: registry.status().state is ModelState.AWAY)
        assert "still loading" in registry.status().sentence
        with pytest.raises(ModelNotReady, match="still loading"):
            registry.provider()
        here.set()
        registry.nudge()
        until(lambda: registry.status().state is ModelState.READY)
        # It notices a call that nobody answered, too.
        here.clear()
        registry.provider().trouble.set()
        until(lambda: registry.status().state is ModelState.AWAY)
        registry.close()
    assert told == [ModelState.LOADING, ModelState.AWAY, ModelState.READY, ModelState.AWAY]


def test_where_nobody_answers_it_is_tried_on_and_the_message_is_kept(registry):
    registry.connect(RemoteProvider(parse("http://127.0.0.1:9")))
    until(lambda: registry.status().state is ModelState.AWAY)
    assert "cannot be reached" in registry.status().sentence
    with pytest.raises(ModelNotReady, match="Your message is saved"):
        registry.provider()
    registry.close()


def test_who_fails_to_pass_a_state_on_stops_nobody_from_connecting(registry, told, caplog):
    def broken(status):
        raise RuntimeError("no loop")

    registry.on_change(broken)
    listed = iter([(503, {"error": "Loading model"}), MODELS])
    with pretending(v1__models=lambda body: next(listed), v1__chat__completions=chat("Hello.")) as server:
        registry.connect(RemoteProvider(parse(server.url)))
        until(lambda: registry.status().state is ModelState.READY)
        registry.close()
    assert told == [ModelState.LOADING, ModelState.AWAY, ModelState.READY]
    assert "was not passed on" in caplog.text


def test_what_a_server_answers_after_another_choice_is_told_no_more(registry, told):
    asked, held = threading.Event(), threading.Event()

    def slow(body):
        asked.set()
        held.wait(10)
        return MODELS

    with pretending(v1__models=slow, v1__chat__completions=chat("Hello.")) as server:
        registry.connect(RemoteProvider(parse(server.url)))
        watch = registry._watch
        assert asked.wait(10)
        registry.use(ScriptedProvider())
        registry._watch = None
        held.set()
        watch._ready()
        watch._away(ProviderError("Too late."))
    assert told == [ModelState.LOADING, ModelState.READY]
    assert not registry.status().remote
    watch.stop()


def test_a_server_that_refuses_the_key_says_that(registry):
    with pretending(v1__models=(401, {})) as server:
        registry.connect(RemoteProvider(parse(server.url), key="wrong"))
        until(lambda: registry.status().state is ModelState.AWAY)
        with pytest.raises(ModelNotReady, match="does not accept the key"):
            registry.provider()
        registry.close()


def test_back_on_this_machine_the_server_is_asked_nothing_more(registry, present):
    with pretending(v1__models=MODELS, v1__chat__completions=chat("Hello.")) as server:
        remote = RemoteProvider(parse(server.url))
        registry.connect(remote)
        assert registry.wait_ready(10)
        registry.load(window=4096)
        with pytest.raises(ModelNotReady, match="is loading"):
            registry.provider()
        made[0].engine.ready.set()
        assert registry.wait_ready(10)
        assert not registry.status().remote
        asked = len(server.asked)
        until(lambda: remote._gate.closed)
        late = remote.stream([Turn("user", "x")], slot="s")
        assert list(late) == []
        assert late.finish == "cancelled"
        assert len(server.asked) == asked
        registry.close()
