"""The model of this machine is set up from the page. Another one is used until all is there."""

from __future__ import annotations

import sys
import threading
import time

import pytest
from django.urls import reverse

from chat.actions import own_model, provider
from chat.actions.own_model import Preparation
from chat.errors import Reason, Refused
from chat.llm.registry import registry
from memoryapp.base import provider as stored
from memoryapp.base.provider import ServerChoice
from tests.waiting import wait_until

WORKS = "print('Compiling 10 %', flush=True)"
WAITS = f"{WORKS}; import time; time.sleep(60)"
FAILS = "import sys; print('There is no C compiler.', flush=True); sys.exit(1)"


def prepare_by(code: str) -> Preparation:
    return Preparation(sys.executable, "-c", code)


@pytest.fixture
def use(monkeypatch):
    """Lets the page set up the model by this code; what runs at the end of the test is stopped."""
    made: list[Preparation] = []

    def choose(code: str) -> Preparation:
        made.append(prepare_by(code))
        for module in ("chat.actions.provider", "chat.views.model_server", "chat.views.context"):
            monkeypatch.setattr(f"{module}.preparation", made[-1])
        return made[-1]

    yield choose
    for one in made:
        one.stop()


@pytest.fixture
def loads(monkeypatch, db, tmp_path):
    """The calls that would load the model of this machine; nothing of it is there, and a server is chosen."""
    calls: list[object] = []
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    stored.save_choice(ServerChoice("http://127.0.0.1:9"))
    monkeypatch.setattr(provider, "load_chosen_model", lambda **how: calls.append(stored.read_choice()))
    monkeypatch.setattr(provider, "_must_prepare", lambda: True)
    monkeypatch.setattr("chat.views.model_server.start_warming", lambda: calls.append("warming"))
    return calls


def post(client, do):
    return client.post(reverse("provider_choose"), {"do": do})


def show(client):
    return client.get(reverse("provider_preparation"), headers={"hx-request": "true"}).content.decode()


def test_the_last_line_is_the_progress_and_the_end_calls_back():
    one, ended = prepare_by(WORKS), threading.Event()
    one.begin(ended.set)
    assert ended.wait(10)
    assert not one.state.is_running
    assert one.state.problem == ""


def test_a_failure_keeps_its_sentence_and_does_not_call_back():
    one = prepare_by(FAILS)
    one.begin(lambda: pytest.fail("it failed"))
    wait_until(lambda: not one.state.is_running)
    assert one.state.problem == "There is no C compiler."


def test_a_stopped_one_ends_its_process_and_does_not_call_back():
    one = prepare_by(WAITS)
    one.begin(lambda: pytest.fail("it was stopped"))
    wait_until(lambda: one.state.progress == "Compiling 10 %")
    process = one._process
    one.stop()
    assert process.poll() is not None
    time.sleep(0.1)
    assert not one.state.is_running
    assert one.state.problem == ""


def test_only_one_runs_at_a_time_and_another_can_follow():
    one = prepare_by(WAITS)
    one.begin(lambda: None)
    process = one._process
    one.begin(lambda: None)
    assert one._process is process
    one.stop()
    one.begin(lambda: None)
    assert one._process is not process
    one.stop()


def test_the_server_is_used_until_the_model_is_there(ours, use, loads):
    one = use(f"{WORKS}; import time; time.sleep(0.5)")
    assert post(ours, "local").status_code == 302
    assert stored.read_choice() is not None
    wait_until(lambda: one.state.progress)
    assert "Compiling 10 %" in show(ours)
    assert "Compiling 10 %" in ours.get(reverse("settings")).content.decode()
    wait_until(lambda: loads)
    assert loads == [None, "warming"]
    assert "is set up" in show(ours)


def test_a_failure_leaves_the_server_and_is_shown(ours, use, loads):
    one = use(FAILS)
    post(ours, "local")
    wait_until(lambda: one.state.problem)
    assert "There is no C compiler." in show(ours)
    assert "There is no C compiler." in ours.get(reverse("settings")).content.decode()
    assert loads == []
    assert stored.read_choice() is not None


def test_it_can_be_stopped_from_the_page(ours, use, loads):
    one = use(WAITS)
    post(ours, "local")
    assert one.state.is_running
    post(ours, "stop")
    assert not one.state.is_running
    assert loads == []


def test_who_chooses_a_server_meanwhile_keeps_it(ours, use, loads):
    one = use(WAITS)
    post(ours, "local")
    ours.post(
        reverse("provider_choose"),
        {"do": "use", "url": "http://127.0.0.1:7", "model": "", "key": "", "window": ""},
    )
    assert not one.state.is_running
    assert stored.read_choice().url == "http://127.0.0.1:7/v1"


def test_where_all_is_there_nothing_is_set_up(ours, use, loads, monkeypatch):
    one = use(FAILS)
    monkeypatch.setattr(provider, "_must_prepare", lambda: False)
    post(ours, "local")
    assert one.state.problem == ""
    assert loads == [None, "warming"]


def test_in_server_mode_it_is_refused_where_it_is_not_set_up(ours, owner, use, loads, monkeypatch, settings):
    settings.MODE = "server"
    monkeypatch.setattr(provider, "is_set_up", lambda: False)
    with pytest.raises(Refused, match=r"Run manage\.py prepare"):
        provider.choose_local(owner)
    assert loads == []


@pytest.mark.parametrize(
    ("code", "offered"), [("no-engine", True), ("weights-missing", True), ("no-model", False)]
)
@pytest.mark.django_db
def test_a_page_without_a_model_offers_to_set_it_up_where_that_helps(ours, code, offered):
    registry.set_failed(Reason(code, {"name": "m"}))
    assert ("Set up the model of this machine" in ours.get("/").content.decode()) == offered


@pytest.mark.django_db
def test_without_scripts_the_progress_is_on_the_settings_page(ours):
    assert ours.get(reverse("provider_preparation")).headers["location"] == reverse("settings")


class TestIsSetUp:
    """Both the engine and the weights must be there."""

    @pytest.fixture(autouse=True)
    def _all_there(self, monkeypatch, tmp_path):
        path = tmp_path / "m.gguf"
        path.write_bytes(b"GGUF")
        monkeypatch.setenv("MODEL_PATH", str(path))
        monkeypatch.setattr(own_model, "find_spec", lambda name: object())

    def test_with_both(self):
        assert own_model.is_set_up()

    def test_without_the_engine(self, monkeypatch):
        monkeypatch.setattr(own_model, "find_spec", lambda name: None)
        assert not own_model.is_set_up()

    def test_without_the_weights(self, monkeypatch, tmp_path):
        monkeypatch.delenv("MODEL_PATH")
        monkeypatch.setenv("MODEL", "smollm2-135m")
        monkeypatch.setenv("MODEL_DIR", str(tmp_path))
        assert not own_model.is_set_up()

    def test_a_wrong_name_is_told_by_loading_it(self, monkeypatch):
        monkeypatch.delenv("MODEL_PATH")
        monkeypatch.setenv("MODEL", "no-such-model")
        assert own_model.is_set_up()
