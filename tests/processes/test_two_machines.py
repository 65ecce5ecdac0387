"""Two servers and their workers on one PostgreSQL database leave each other's work alone."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time

import pytest
from websockets.sync.client import connect

from tests.page_client import ROOT

from .cluster import wait_for

pytestmark = pytest.mark.slow


def test_one_of_two_migrations_waits_and_finds_nothing_to_do(cluster, first, second):
    applied = [machine.read_log().count("Applying chat.0001_initial") for machine in (first, second)]
    assert sorted(applied) == [0, 1]
    assert any("No migrations to apply" in machine.read_log() for machine in (first, second))


def test_a_second_start_leaves_the_reply_of_the_first_server_running(cluster, first, second):
    _conversation, reply = first.serve().begin_reply()
    wait_for(lambda: cluster.read_reply(reply)[2])
    second.serve()
    before = cluster.read_reply(reply)[2]
    wait_for(lambda: len(cluster.read_reply(reply)[2]) > len(before))
    assert cluster.read_reply(reply)[0] == "streaming"


def test_what_a_killed_server_wrote_is_kept_and_recovered_once(cluster, first, second):
    server, other = first.serve(), second.serve()
    second.start("run_jobs")
    _conversation, reply = server.begin_reply()
    _conversation, theirs = other.begin_reply()
    wait_for(lambda: cluster.read_reply(reply)[2] and cluster.read_reply(theirs)[2])
    before = second.read_log().count("a process has died")
    server.process.kill()
    wait_for(lambda: cluster.read_reply(reply)[0] == "stopped")
    state, failure, text = cluster.read_reply(reply)
    assert (state, failure) == ("stopped", "stopped-by-shutdown")
    assert text.startswith("number 0, ")
    time.sleep(1)
    assert second.read_log().count("a process has died") == before + 1
    assert cluster.read_reply(theirs)[0] == "streaming"


def test_a_server_that_was_taken_for_dead_goes_on_and_leaves_what_was_recovered(cluster, first, second):
    server = first.serve()
    second.serve()
    conversation, reply = server.begin_reply()
    wait_for(lambda: cluster.read_reply(reply)[2])
    server.process.send_signal(signal.SIGSTOP)
    wait_for(lambda: cluster.read_reply(reply)[0] == "stopped")
    stopped = cluster.read_reply(reply)
    server.process.send_signal(signal.SIGCONT)
    wait_for(lambda: cluster.rows("SELECT count(*) FROM chat_process WHERE kind = 'serve'") == [(2,)])
    time.sleep(2)
    assert cluster.read_reply(reply) == stopped
    sent = server.ask("POST", f"conversations/{conversation}/messages?wait=10", {"content": "And then?"})
    assert sent["reply"]["state"] == "complete"


def test_two_workers_do_each_job_once(cluster, first, second):
    server = first.serve()
    words = [f"spanner{number:02}" for number in range(8)]
    for word in words:
        server.begin_reply(f"I keep the {word} in a drawer of my old desk in the hall.")
    workers = [machine.start("run_jobs", "--workers", "2") for machine in (first, second)]
    waiting = "SELECT count(*) FROM chat_job WHERE kind = 'extract'"
    wait_for(lambda: cluster.rows(waiting) == [(0,)], seconds=60)
    asked = [str(body["messages"]) for body in cluster.model.bodies("/v1/chat/completions")]
    prompts = [text for text in asked if "You keep notes about one person" in text]
    assert {word: sum(word in text for text in prompts) for word in words} == dict.fromkeys(words, 1)
    read = "SELECT count(*) FROM chat_extractionrun r JOIN chat_message m ON m.id = r.message_id"
    assert cluster.rows(f"{read} WHERE m.content LIKE 'I keep the spanner%'") == [(len(words),)]
    assert all(worker.poll() is None for worker in workers)


def test_a_temporary_chat_that_is_open_in_one_server_is_not_deleted_by_another(cluster, first, second):
    server = first.serve()
    chat = server.ask("POST", "conversations", {"temporary": True})["id"]
    address = f"{server.base.replace('http', 'ws')}/ws/?conversation={chat}"
    there = ("SELECT count(*) FROM chat_conversation WHERE id = %s", chat)
    headers = {"Authorization": f"Bearer {server.token}"}
    with connect(address, additional_headers=headers):
        wait_for(lambda: chat in str(cluster.rows("SELECT open_conversations FROM chat_process")))
        discard_now(second, chat)
        second.serve()
        second.start("run_jobs")
        due = "SELECT count(*) FROM chat_job WHERE kind = 'discard' AND run_after < now()"
        wait_for(lambda: cluster.rows(due) == [(0,)])
        assert cluster.rows(*there) == [(1,)]
    wait_for(lambda: chat not in str(cluster.rows("SELECT open_conversations FROM chat_process")))
    discard_now(second, chat)
    wait_for(lambda: cluster.rows(*there) == [(0,)])


def discard_now(machine, chat: str) -> None:
    machine.run_code(
        "from django.utils import timezone; from chat.actions.conversation_jobs import schedule_discard; "
        f"schedule_discard({chat!r}, timezone.now())"
    )


def test_another_model_that_an_admin_chooses_is_used_by_every_process(cluster, first, second):
    servers = [first.serve(), second.serve()]
    fields = {"url": f"{cluster.model.url}/v1", "model": "other", "key": "", "window": "4096", "do": "use"}
    assert servers[0].page.post("/settings/provider/", data=fields).status_code == 302
    wait_for(lambda: all("other on 127.0.0.1" in server.page.get("/").text for server in servers))
    (stored,) = cluster.rows("SELECT model_server FROM chat_installation")
    assert "sk-secret" not in stored[0]
    assert "127.0.0.1" not in stored[0]
    sent = servers[1].ask("POST", "conversations", {})["id"]
    servers[1].ask("POST", f"conversations/{sent}/messages?wait=10", {"content": "Hello."})
    last = cluster.model.asked[-1]
    assert last[1]["model"] == "other"
    assert last[2]["Authorization"] == "Bearer sk-secret"


def test_a_file_that_one_server_received_is_imported_by_another(cluster, first, second):
    servers = [first.serve(), second.serve()]
    sample = ROOT / "tests" / "porting" / "samples" / "chatgpt.json"
    file = {"file": (sample.name, sample.read_bytes(), "application/json")}
    sent = servers[0].page.post("/settings/import/", files=file)
    assert sent.status_code == 302, sent.text
    where = sent.headers["location"]
    servers[0].process.kill()
    assert servers[1].page.get(where).status_code == 200
    assert "Walnut bread" not in str(servers[1].ask("GET", "conversations"))
    assert servers[1].page.post(where, data={"do": "import"}).status_code == 200
    assert "Walnut bread" in str(servers[1].ask("GET", "conversations"))
    assert cluster.rows("SELECT count(*) FROM chat_importuploadpart") == [(0,)]


def test_a_process_with_another_secret_key_refuses_to_start(cluster, first, tmp_path):
    # The first server that starts on a database stores the fingerprint of its key.
    first.serve()
    (tmp_path / "static").mkdir()
    environment = {**first.environment, "DATA_DIR": str(tmp_path), "SECRET_KEY": "another one"}
    ended = subprocess.run(
        [sys.executable, "manage.py", "serve", "--no-browser", "--port", "0"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 1
    assert re.search("made with another secret key.*set SECRET_KEY.*--accept-loss", ended.stderr)
    assert "Traceback" not in ended.stderr


def test_a_worker_without_a_model_server_takes_the_model_of_the_machine_or_says_why_not(
    cluster, first, second
):
    cluster.rows("UPDATE chat_installation SET model_server = '', model_server_version = 99")
    try:
        second.serve()
        assert second.start("run_jobs", "--once").wait() == 1
        assert "needs a model on a server" in second.read_log()
    finally:
        cluster.choose_model(first, "m")
