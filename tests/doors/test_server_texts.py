"""In server mode no page says what is true in local mode only, such as that all stays on this device."""

from __future__ import annotations

import html
import re

import pytest

from chat.actions.importing import uploads
from chat.error_messages import describe
from chat.errors import Reason
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry

pytestmark = pytest.mark.django_db
PAGES = (
    *("/", "/?temporary=1", "/settings/", "/memory/", "/memory/graph/", "/apps/", "/statistics/"),
    *("/search/?q=x", "/nothing/", "/api/docs", "/model/"),
)
# What is true of one's own machine only.
LOCAL = re.compile(
    r"this (?:device|machine|disk)|your passphrase|the model server that you chose|Ctrl-C|manage\.py", re.I
)


def find_local_texts(client, pages=PAGES) -> list[str]:
    found = []
    for path in pages:
        headers = {"hx-request": "true"} if path == "/model/" else {}
        text = html.unescape(client.get(path, headers=headers).content.decode())
        found += [f"{path}: {text[max(0, m.start() - 60) : m.end() + 60]}" for m in LOCAL.finditer(text)]
    return found


def test_the_pages_of_local_mode_speak_of_this_device(ours, owner, scripted):
    said = " ".join(find_local_texts(ours))
    assert "Everything stays on this device" in said
    assert "one folder on this machine" in said
    assert "It runs on this device" in said


def test_a_member_of_a_server_reads_nothing_that_is_true_of_the_own_machine_only(
    server_mode, other, logged_in, scripted
):
    client = logged_in(other)
    assert find_local_texts(client) == []
    text = client.get("/").content.decode()
    assert "Everything stays on this server" in text
    assert "Scripted on this server" in text
    assert "Conversations and memories are kept on this server" in text


def test_a_member_is_told_where_messages_go_when_the_model_is_elsewhere(
    server_mode, other, logged_in, scripted
):
    registry.set_status(ModelStatus(ModelState.READY, "m", "Scripted", remote=True, host="llm.example.org"))
    client = logged_in(other)
    assert find_local_texts(client) == []
    assert (
        "Messages go to the model on llm.example.org, and nowhere else." in client.get("/").content.decode()
    )


@pytest.mark.parametrize("state", [ModelState.MISSING, ModelState.FAILED])
def test_a_member_reads_no_command_for_a_model_that_is_missing(server_mode, other, owner, logged_in, state):
    reason = Reason("weights-missing", {"name": "a model"})
    registry.set_status(ModelStatus(state, "m", "Model", reason, "python3 manage.py weights fetch"))
    client = logged_in(other)
    assert find_local_texts(client) == []
    assert "The people who run this server can see why." in client.get("/").content.decode()
    assert "python3 manage.py weights fetch" in logged_in(owner).get("/").content.decode()


def test_an_admin_reads_of_the_server_and_not_of_the_own_device(server_mode, owner, logged_in, scripted):
    text = html.unescape(logged_in(owner).get("/settings/").content.decode())
    assert re.findall(r"this device|on this machine|your passphrase|stays on this", text, re.I) == []


def test_a_file_that_is_too_large_is_for_the_people_who_run_the_server(server_mode):
    assert "Ask the people who run this server" in describe(uploads.too_large())
    server_mode.MODE = "local"
    assert "manage.py import_memory" in describe(uploads.too_large())
