"""Choosing a model server on the settings page: used at once, only by the machine's owner, key not shown."""

from __future__ import annotations

import html
import stat
import sys
from typing import Any

import pytest
from django.urls import reverse

from chat.actions import provider as actions
from chat.actions.installation import store_model_server
from chat.errors import Reason
from chat.llm import weights
from chat.llm.model_status import ModelState
from chat.llm.registry import registry
from chat.llm.scripted import ScriptedProvider
from chat.models import ApiToken, Installation
from memoryapp.base import provider as kept
from memoryapp.base.env import BadValue
from tests.llm.remote.fake_server import chat_endpoint, run_fake_server
from tests.waiting import wait_until

MODELS = {"data": [{"id": "fox"}]}
KEY = "sk-quite-secret"


@pytest.fixture(autouse=True)
def nothing_chosen(db, settings, tmp_path, monkeypatch):
    """No server is chosen before the test, and none stays connected after it."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    yield
    registry.set_failed(Reason("verbatim", {"sentence": "The test is over."}))


@pytest.fixture
def server():
    """A server with one model."""
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as found:
        yield found


@pytest.fixture
def loads(monkeypatch):
    """The calls that would load the local model."""
    calls: list[dict[str, Any]] = []
    monkeypatch.setattr(registry, "load", lambda **how: calls.append(how))
    monkeypatch.setattr("chat.views.model_server.start_warming", lambda: None)
    return calls


def post(client, do="use", **fields):
    return client.post(reverse("provider_choose"), {"do": do, "model": "", "key": "", "window": "", **fields})


def test_a_chosen_server_is_used_at_once_and_after_a_restart(ours, owner, server):
    assert post(ours, url=server.url, key=KEY, window="4096").status_code == 302
    assert registry.wait_ready(10)
    status = registry.status()
    assert (status.remote, status.label) == (True, "fox")
    assert registry.provider().context_window == 4096
    assert kept.read_choice() == kept.ServerChoice(f"{server.url}/v1", "", KEY, 4096)
    registry.set_failed(Reason("verbatim", {"sentence": "The program ended."}))
    actions.load_chosen_model()
    assert registry.wait_ready(10)
    page = ours.get("/").content.decode()
    assert f"fox on {status.host}" in page
    assert f"Messages go to the model on {status.host}" in page
    assert "on this device" not in page


def test_the_key_is_readable_only_by_its_owner_and_on_no_page(ours, owner, server):
    post(ours, url=server.url, key=KEY)
    assert stat.S_IMODE(kept.choice_path().stat().st_mode) == 0o600
    page = ours.get(reverse("settings")).content.decode()
    assert KEY not in page
    assert "A key is kept" in page
    assert KEY not in repr(kept.read_choice())


def test_a_stored_key_is_not_sent_to_another_server(ours, owner, server):
    post(ours, url=server.url, key=KEY)
    post(ours, url=server.url, model="fox")
    assert kept.read_choice().key == KEY
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as other:
        post(ours, url=other.url)
        assert kept.read_choice().key == ""
        assert registry.wait_ready(10)
        assert all("Authorization" not in headers for _path, _body, headers in other.asked)


def test_a_stored_key_can_be_removed(ours, owner, server):
    post(ours, url=server.url, key=KEY)
    post(ours, url=server.url, drop_key="on")
    assert kept.read_choice().key == ""


def test_testing_a_server_reports_its_abilities_and_changes_nothing(ours_htmx, owner, server):
    answer = post(ours_htmx, do="test", url=server.url)
    text = answer.content.decode()
    assert "This works." in text
    assert "“fox” answers." in text
    assert "does not count tokens" in text
    assert kept.read_choice() is None
    assert not registry.status().remote


def test_several_servers_are_chosen_and_listed_with_what_is_wrong(ours, owner, server):
    away = "http://127.0.0.1:9"
    assert post(ours, url=f"{server.url}, {away}").status_code == 302
    assert kept.read_choice().url == f"{server.url}/v1 {away}/v1"
    assert registry.wait_ready(10)
    wait_until(lambda: registry.list_servers()[1].problem is not None)
    page = html.unescape(ours.get(reverse("settings")).content.decode())
    assert "0 of 2 places in use" in page
    assert "Couldn't reach the model." in page
    assert f'value="{server.url}/v1 {away}/v1"' in page


def test_testing_several_servers_tells_how_many_can_be_used(ours_htmx, owner, server):
    text = html.unescape(post(ours_htmx, do="test", url=f"{server.url} http://127.0.0.1:9").content.decode())
    assert "1 of 2 servers can be used." in text
    assert "127.0.0.1:9: Couldn't reach the model." in text


def test_a_stored_key_is_kept_for_fewer_servers_and_not_for_more(ours, owner, server):
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("Hello.")) as other:
        post(ours, url=f"{server.url} {other.url}", key=KEY)
        post(ours, url=server.url)
        assert kept.read_choice().key == KEY
        post(ours, url=f"{server.url} {other.url}")
        assert kept.read_choice().key == ""


def test_without_javascript_the_test_result_is_on_the_page(ours, owner, server):
    assert "“fox” answers." in ours.get(post(ours, do="test", url=server.url).url).content.decode()


@pytest.mark.parametrize("do", ["test", "use"])
def test_without_javascript_the_form_keeps_all_input_but_the_key(ours, owner, do):
    typed = {"url": "http://127.0.0.1:9", "model": "a fox", "key": KEY, "window": "17"}
    page = ours.get(post(ours, do=do, **typed).url).content.decode()
    for name in ("url", "model", "window"):
        assert f'value="{typed[name]}"' in page
    assert KEY not in page
    assert "a fox" not in ours.get(reverse("settings")).content.decode()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("KEY", key) for key in ("two words", "schlüssel", "bad\nheader")),
        *(("WINDOW", window) for window in ("-1", "2047", "many")),
    ],
)
def test_invalid_values_in_the_environment_are_refused(monkeypatch, name, value):
    monkeypatch.setenv("PROVIDER_URL", "http://127.0.0.1:9")
    monkeypatch.setenv(f"PROVIDER_{name}", value)
    with pytest.raises(BadValue, match=f"PROVIDER_{name}"):
        kept.read_choice()


def test_a_server_that_cannot_be_used_is_reported(ours_htmx, owner):
    with run_fake_server(v1__models=(401, {})) as server:
        answer = post(ours_htmx, do="test", url=server.url)
    assert "does not accept the key" in answer.content.decode()
    assert "This works" not in answer.content.decode()
    answer = html.unescape(post(ours_htmx, do="test", url="http://127.0.0.1:9").content.decode())
    assert "Couldn't reach the model." in answer
    assert "Your message" not in answer


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"url": "http://example.com"}, "must begin with https"),
        ({"url": "https://me:pw@example.com"}, "key into its own field"),
        ({"url": "http://127.0.0.1:9", "window": "many"}, "whole number"),
        ({"url": "http://127.0.0.1:9", "window": "10"}, "between 2048"),
        ({"url": "http://127.0.0.1:9", "key": "two words"}, "not a valid key"),
        ({"url": "http://127.0.0.1:9", "key": "bad\nheader: x"}, "not a valid key"),
    ],
)
def test_invalid_input_is_refused_and_changes_nothing(ours_htmx, owner, fields, why):
    answer = post(ours_htmx, **fields)
    assert answer.status_code == 422
    assert why in answer.content.decode()
    assert kept.read_choice() is None


def test_choosing_this_device_removes_the_server(ours, owner, server, loads):
    post(ours, url=server.url, key=KEY)
    assert post(ours, do="local").status_code == 302
    assert kept.read_choice() is None
    assert not kept.choice_path().exists()
    assert len(loads) == 1


def test_saving_the_same_choice_again_keeps_the_provider(ours, owner, server, loads):
    post(ours, url=server.url, key=KEY)
    assert registry.wait_ready(10)
    provider = registry.provider()
    post(ours, url=server.url)
    assert registry.provider() is provider
    post(ours, url=server.url, window="4096")
    assert registry.wait_ready(10)
    assert registry.provider() is not provider
    registry.use(scripted := ScriptedProvider())
    kept.save_choice(None)
    post(ours, do="local")
    assert (registry.provider(), loads) == (scripted, [])


def test_an_engine_that_does_not_fit_the_processor_fails_without_a_crash_of_the_server(
    ours, owner, server, monkeypatch, tmp_path
):
    python, model = tmp_path / "python", tmp_path / "model.gguf"
    python.write_text("#!/bin/sh\nkill -ILL $$\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(weights, "require", lambda entry: model)
    post(ours, url=server.url)
    post(ours, do="local")
    wait_until(lambda: registry.status().state is ModelState.FAILED)
    assert "an instruction that this processor does not have" in registry.status().sentence


def test_a_file_that_is_no_model_is_reported_and_not_loaded(ours, owner, server, monkeypatch, tmp_path):
    model = tmp_path / "model.gguf"
    model.write_text("no model")
    monkeypatch.setattr(weights, "require", lambda entry: model)
    post(ours, url=server.url)
    post(ours, do="local")
    wait_until(lambda: registry.status().state is ModelState.FAILED)
    assert "The engine could not use the model" in registry.status().sentence


def test_an_unreachable_server_is_reported_on_the_page(ours, owner):
    post(ours, url="http://127.0.0.1:9")
    wait_until(lambda: registry.status().state is ModelState.AWAY)
    assert "cannot be reached" in ours.get("/").content.decode()
    assert kept.read_choice() is not None


def test_a_server_from_the_environment_cannot_be_changed_on_the_page(ours_htmx, owner, server, monkeypatch):
    monkeypatch.setenv("PROVIDER_URL", server.url)
    monkeypatch.setenv("PROVIDER_KEY", KEY)
    page = ours_htmx.get(reverse("settings")).content.decode()
    assert "PROVIDER_URL" in page
    assert "set-provider" not in page
    assert post(ours_htmx, do="local").status_code == 422
    assert kept.read_choice() == kept.ServerChoice(server.url, "", KEY, 0, fixed=True)
    actions.load_chosen_model()
    assert registry.wait_ready(10)


def test_an_invalid_address_in_the_environment_is_reported_as_model_state(owner, monkeypatch):
    monkeypatch.setenv("PROVIDER_URL", "http://example.com")
    actions.load_chosen_model()
    assert registry.status().state is ModelState.FAILED
    assert "https" in registry.status().sentence


@pytest.fixture
def as_server(server_mode, monkeypatch, owner, other):
    """Server mode with an admin (`owner`) and a member (`other`)."""
    monkeypatch.setenv("MODE", "server")


def test_in_server_mode_an_admin_chooses_the_server_for_all(as_server, owner, other, logged_in, server):
    client = logged_in(owner)
    assert post(client, url=server.url, key=KEY, window="4096").status_code == 302
    assert registry.wait_ready(10)
    assert actions.read_choice() == kept.ServerChoice(f"{server.url}/v1", "", KEY, 4096)
    stored = Installation.objects.get().model_server
    assert KEY not in stored
    assert server.url not in stored
    assert not kept.choice_path().exists()
    page = client.get(reverse("settings")).content.decode()
    assert "A key is kept" in page
    assert KEY not in page


def test_in_server_mode_members_choose_nothing(as_server, other, logged_in, server):
    client = logged_in(other)
    assert "set-provider" not in client.get(reverse("settings")).content.decode()
    for do in ("use", "test", "local"):
        assert post(client, do=do, url=server.url).status_code == 302
    assert actions.read_choice() is None
    assert not server.asked


def test_in_server_mode_the_file_of_local_mode_does_not_count(as_server, server):
    kept.save_choice(kept.ServerChoice(server.url))
    assert actions.read_choice() is None


def test_in_server_mode_the_environment_wins_and_the_page_says_so(
    as_server, monkeypatch, owner, logged_in, server
):
    store_model_server(kept.ServerChoice("http://127.0.0.1:9"))
    monkeypatch.setenv("PROVIDER_URL", server.url)
    page = logged_in(owner).get(reverse("settings")).content.decode()
    assert "with PROVIDER_URL" in page
    assert "set-provider" not in page
    assert post(logged_in(owner), url="http://127.0.0.1:9").status_code == 302
    assert actions.read_choice() == kept.ServerChoice(server.url, fixed=True)


def test_a_choice_of_another_process_is_followed(as_server, server, loads):
    actions.load_chosen_model()
    assert len(loads) == 1
    assert not actions.follow_choice()
    store_model_server(kept.ServerChoice(server.url))
    assert actions.follow_choice()
    assert registry.wait_ready(10)
    assert registry.status().remote
    assert not actions.follow_choice()
    store_model_server(None)
    assert actions.follow_choice()
    assert len(loads) == 2


def test_a_worker_without_a_model_of_its_own_says_that_it_needs_a_server(as_server, loads):
    actions.load_chosen_model(local=False)
    assert loads == []
    assert registry.status().state is ModelState.FAILED
    assert "models on servers only" in registry.status().sentence


def test_the_next_start_knows_that_a_server_is_chosen_in_the_database(as_server, server):
    kept.choice_path().parent.mkdir()
    store_model_server(kept.ServerChoice(server.url))
    actions.load_chosen_model()
    assert kept.is_remote()
    store_model_server(None)
    actions.load_chosen_model(local=False)
    assert not kept.is_remote()


def test_other_users_and_visitors_without_login_cannot_choose_a_server(client, other, owner, server):
    secret = "of-another"
    token = ApiToken.objects.create(
        owner=other, name="mine", digest=ApiToken.digest_of(secret), scopes=["model"]
    )
    headers = {"authorization": f"Bearer {secret}"}
    answer = client.post(
        reverse("provider_choose"), {"url": server.url}, headers={**headers, "hx-request": "true"}
    )
    assert answer.status_code == 422
    token.delete()
    assert client.post(reverse("provider_choose"), {"url": server.url}, headers=headers).status_code == 403
    assert client.post(reverse("provider_choose"), {"url": server.url}).status_code == 403
    assert kept.read_choice() is None
    assert not server.asked
