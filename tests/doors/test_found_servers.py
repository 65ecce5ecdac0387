"""Models of other programs on this machine are offered on the pages, and used after one press."""

from __future__ import annotations

import pytest
from django.urls import reverse

from chat.actions import found_servers
from chat.errors import Reason
from chat.llm.model_status import ModelState
from chat.llm.registry import registry
from memoryapp.base import local_servers
from memoryapp.base import provider as stored
from memoryapp.base.env import BadValue
from memoryapp.base.provider import ServerChoice
from tests import local_programs
from tests.local_programs import OLLAMA_TAGS
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("_looking")


@pytest.fixture
def _looking(db, settings, tmp_path, monkeypatch):
    settings.FIND_MODEL_SERVERS = True
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    yield
    registry.set_failed(Reason("verbatim", {"sentence": "The test is over."}))


@pytest.fixture
def run(monkeypatch):
    """Runs a fake program."""
    yield from local_programs.make_runner(monkeypatch)


def look(client, *, htmx=True):
    headers = {"hx-request": "true"} if htmx else {}
    return client.get(reverse("provider_found"), headers=headers).content.decode()


def press(client, program="ollama", model="qwen3:4b"):
    values = {"do": "found", "program": program, "found_model": model}
    return client.post(reverse("provider_choose"), values)


def test_all_found_models_are_listed_and_a_cloud_model_says_that_it_leaves(ours, run):
    run("ollama")
    run("jan", v1__models=(401, {}))
    shown = look(ours)
    assert shown.count("<form") == 2
    assert "qwen3:4b" in shown
    assert shown.count("Leaves this machine") == 1
    assert "Jan runs here and asks for a key." in shown


def test_without_any_the_part_is_empty_and_the_page_says_so(ours, run):
    assert look(ours).strip() == ""
    assert "None of the programs" in look(ours, htmx=False)


def test_the_page_without_scripts_lists_them_too(ours, run):
    run("vllm")
    assert "Qwen/Qwen3-4B" in look(ours, htmx=False)


def test_one_press_uses_the_model_now_and_after_a_restart(ours, run):
    server = run("ollama")
    assert press(ours).status_code == 302
    assert registry.wait_ready(10)
    assert stored.read_choice() == ServerChoice(f"{server.url}/v1", "qwen3:4b", program="ollama")
    assert registry.status().host == server.url.removeprefix("http://")


def test_the_page_says_where_a_cloud_model_runs(ours, run):
    run("ollama")
    press(ours, model="gpt-oss:120b-cloud")
    assert registry.wait_ready(10)
    assert registry.status().host == "ollama.com"
    assert "Messages go to the model on ollama.com" in ours.get("/").content.decode()


@pytest.mark.parametrize(
    ("program", "model", "sentence"),
    [
        ("ollama", "qwen3:70b", "no longer has the model “qwen3:70b”"),
        ("vllm", "m", "vLLM does not answer on this machine"),
        ("nothing", "m", "does not answer"),
    ],
)
def test_what_is_not_there_any_more_is_told_and_changes_nothing(ours, run, program, model, sentence):
    run("ollama")
    before = registry.status()
    assert press(ours, program, model).status_code == 302
    assert sentence in ours.get(reverse("settings")).content.decode()
    assert stored.read_choice() is None
    assert registry.status() == before


def test_no_prompt_goes_to_another_program_at_the_same_port(ours, run):
    server = run("ollama")
    press(ours)
    assert registry.wait_ready(10)
    # Another program takes the port.
    server.paths = {"/v1/models": OLLAMA_TAGS, "/v1/chat/completions": server.paths["/v1/chat/completions"]}
    server.asked.clear()
    registry.retry_connection()
    found_servers.choose_found_server(
        found_servers.local_owner(), local_servers.find_program("ollama"), "other"
    )
    wait_until(lambda: registry.status().state is ModelState.AWAY)
    assert registry.status().reason.code == "server-other-program"
    assert server.bodies("/v1/chat/completions") == []
    # It comes back.
    server.paths |= {f"/{name.replace('__', '/')}": v for name, v in local_programs.ANSWERS["ollama"].items()}
    press(ours)
    assert registry.wait_ready(10)


def test_the_form_keeps_what_was_found_as_long_as_the_address_stays(ours, run):
    server = run("ollama")
    press(ours)
    fields = {"do": "use", "url": server.url, "model": "qwen3:4b", "key": "", "window": "4096"}
    ours.post(reverse("provider_choose"), fields)
    assert stored.read_choice().program == "ollama"
    ours.post(reverse("provider_choose"), {**fields, "url": "http://127.0.0.1:9"})
    assert stored.read_choice().program == ""


def test_the_first_page_and_a_page_without_a_model_look(ours, settings):
    assert reverse("provider_found") in ours.get("/").content.decode()
    settings.FIND_MODEL_SERVERS = False
    assert reverse("provider_found") not in ours.get("/").content.decode()


def test_nothing_is_asked_where_the_setting_is_off_or_the_start_fixed_the_model(
    ours, run, settings, monkeypatch
):
    server = run("ollama")
    settings.FIND_MODEL_SERVERS = False
    assert look(ours).strip() == ""
    settings.FIND_MODEL_SERVERS = True
    monkeypatch.setenv("PROVIDER_URL", "http://127.0.0.1:9")
    assert look(ours).strip() == ""
    assert server.asked == []


def test_in_server_mode_nothing_is_looked_for_or_chosen(settings, run, owner):
    server = run("ollama")
    settings.MODE = "server"
    assert found_servers.find_for(owner, 0) == []
    with pytest.raises(found_servers.Refused):
        found_servers.choose(owner, "ollama", "qwen3:4b")
    with pytest.raises(BadValue, match="local mode"):
        found_servers.choose_by_text("ollama:qwen3:4b")
    assert server.asked == []


def test_the_choice_of_the_command_line_is_stored_before_the_model_is_loaded(owner, run):
    run("ollama")
    before = registry.status()
    found_servers.choose_by_text("ollama:qwen3:4b")
    assert stored.read_choice().model == "qwen3:4b"
    assert registry.status() == before
    with pytest.raises(BadValue, match="has no model"):
        found_servers.choose_by_text("ollama:llama3")
    assert stored.read_choice().model == "qwen3:4b"


def test_a_choice_of_an_older_version_is_read_without_a_program(tmp_path):
    stored.save_choice(ServerChoice("http://127.0.0.1:9/v1", "m"))
    path = stored.choice_path()
    path.write_text(path.read_text().replace(', "program": ""', ""))
    assert stored.read_choice() == ServerChoice("http://127.0.0.1:9/v1", "m")
