"""A process killed at any moment loses at most a second of a reply, and does nothing twice."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from chat.llm import weights
from tests.page_client import ROOT, Page, serve

pytestmark = [
    pytest.mark.model,
    pytest.mark.slow,
    pytest.mark.skipif(
        not weights.is_present(weights.entry_named("smollm2-135m")),
        reason="the test model has not been fetched",
    ),
]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A data folder of its own, migrated, and the small real model."""
    env = {k: v for k, v in os.environ.items() if k not in ("DJANGO_SETTINGS_MODULE", "MODEL_PATH")}
    env |= {"DATA_DIR": str(tmp_path / "data"), "MODEL": "smollm2-135m"}
    for command in (["migrate", "-v0"], ["collectstatic", "--noinput", "-v0"]):
        subprocess.run([sys.executable, "manage.py", *command], cwd=ROOT, env=env, check=True)
    return env


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Callable[[], tuple[subprocess.Popen[bytes], Page]]]:
    """Starts the real server; whatever still runs at the end is killed."""
    running = []

    def begin() -> tuple[subprocess.Popen[bytes], Page]:
        process, base = serve(environment, "manage.py", "serve", "--no-browser", "--port")
        running.append(process)
        return process, Page(base)

    yield begin
    for process in running:
        process.kill()
        process.wait(10)


def rows(environment: dict[str, str], query: str) -> list[Any]:
    """Read the database as another program would."""
    with sqlite3.connect(Path(environment["DATA_DIR"]) / "memoryapp.sqlite3", timeout=20) as connection:
        return connection.execute(query).fetchall()


def until(condition: Callable[[], Any], seconds: float = 90) -> Any:
    """Wait for something that must become true."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return value


def test_a_reply_cut_off_by_a_kill_is_there_as_stopped_and_can_be_written_anew(start, environment):
    process, page = start()
    _, html = page.post("/send/", text="Write a very long story about a lighthouse keeper and the sea.")
    reply = re.findall(r'data-id="([^"]+)"', html)[-1]
    until(lambda: rows(environment, "SELECT 1 FROM chat_message WHERE seq=2 AND length(content) > 40"))
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    [(state, before)] = rows(environment, "SELECT state, content FROM chat_message WHERE role='assistant'")
    assert state == "streaming"

    _, page = start()
    [(state, after)] = rows(environment, "SELECT state, content FROM chat_message WHERE role='assistant'")
    assert (state, after) == ("stopped", before)
    shown = page.get(f"/m/{reply}/")
    assert before.split()[0] in shown
    assert f"/m/{reply}/retry/" in shown
    page.post(f"/m/{reply}/retry/")
    until(lambda: rows(environment, "SELECT 1 FROM chat_message WHERE seq=3 AND length(content) > 10"))
    assert rows(environment, "SELECT content FROM chat_message WHERE state='stopped'") == [(before,)]


def test_a_look_cut_off_by_a_kill_runs_to_its_end_once(start, environment):
    process, page = start()
    page.begin("I live in Oslo and I work as a carpenter. Answer with one word.")
    until(lambda: rows(environment, "SELECT 1 FROM chat_job WHERE kind='extract' AND lease_until > ''"))
    process.send_signal(signal.SIGKILL)
    process.wait(10)

    start()
    until(lambda: not rows(environment, "SELECT 1 FROM chat_job WHERE kind='extract'"))
    assert rows(
        environment, "SELECT seq FROM chat_extractionrun JOIN chat_message m ON m.id = message_id"
    ) == [(1,)]
    assert rows(environment, "SELECT extracted_through FROM chat_conversation") == [(1,)]
    texts = [text for (text,) in rows(environment, "SELECT lower(text) FROM chat_fact")]
    assert len(texts) == len(set(texts))


def test_a_look_during_which_the_server_is_told_to_end_is_put_back_and_read_at_the_next_start(
    start, environment
):
    process, page = start()
    page.begin("I live in Oslo and I work as a carpenter. Answer with one word.")
    until(lambda: rows(environment, "SELECT 1 FROM chat_job WHERE kind='extract' AND lease_until > ''"))
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    state = "SELECT lease_until, attempts, last_error FROM chat_job WHERE kind='extract'"
    if rows(environment, "SELECT extracted_through FROM chat_conversation") == [(0,)]:
        assert rows(environment, state) == [(None, 0, "")]
        rows(environment, "UPDATE chat_job SET run_after = datetime('now') WHERE kind='extract'")

    start()
    until(lambda: rows(environment, "SELECT 1 FROM chat_conversation WHERE extracted_through = 1"))


def test_a_forgotten_fact_is_gone_after_a_kill_inside_its_undo_window(start, environment):
    process, page = start()
    page.post("/memory/add/", text="User collects stamps")
    [(pk,)] = rows(environment, "SELECT id FROM chat_fact")
    page.post(f"/memory/{UUID(pk)}/delete/")
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    assert rows(environment, "SELECT state FROM chat_deletion") == [("pending",)]

    start()
    until(lambda: rows(environment, "SELECT 1 FROM chat_deletion WHERE state='done'"), seconds=30)
    assert rows(environment, "SELECT text FROM chat_fact") == []
    assert json.dumps(rows(environment, "SELECT before, after FROM chat_factevent")) == "[]"


def test_deleted_and_temporary_chats_are_gone_after_a_kill_inside_the_undo_window(start, environment):
    process, page = start()
    url, _ = page.post("/send/", text="Hello")
    page.post("/send/", text="Hello", temporary="1")
    assert len(rows(environment, "SELECT id FROM chat_conversation")) == 2
    page.post(f"/c/{url.rstrip('/').rsplit('/', 1)[-1]}/delete/")
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    assert rows(environment, "SELECT state FROM chat_deletion") == [("pending",)]

    start()
    until(lambda: not rows(environment, "SELECT 1 FROM chat_conversation"), seconds=60)
    assert rows(environment, "SELECT state FROM chat_deletion") == [("done",)]
    assert rows(environment, "SELECT 1 FROM chat_message") == []


def test_a_cleared_memory_comes_back_by_undo_after_a_kill_inside_its_window(start, environment):
    process, page = start()
    page.post("/memory/add/", text="User collects stamps")
    page.post("/memory/clear/")
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    [(pk,)] = rows(environment, "SELECT id FROM chat_deletion WHERE state='pending'")
    # The start of a server must not be quicker than the window for this to be seen.
    rows(environment, "UPDATE chat_deletion SET expires_at = datetime('now', '+5 minutes')")

    _, page = start()
    assert "Memory cleared" in page.get("/memory/")
    page.post(f"/memory/undo/{UUID(pk)}/")
    assert rows(environment, "SELECT text, deletion_id FROM chat_fact") == [("User collects stamps", None)]
    assert "Collects stamps" in page.get("/memory/")


def test_what_a_program_sent_with_a_key_before_a_kill_is_sent_once(start, environment):
    process, page = start()
    _, html = page.post("/settings/tokens/", name="a program")
    token = re.findall(r"mem_[\w-]{43}", html)[0]
    begun = ask(page.base, token, "/api/conversations", {"title": "Sea"}, key="chat-1")
    story = {"content": "Write a very long story about a lighthouse keeper and the sea."}
    sending = (token, f"/api/conversations/{begun['id']}/messages?wait=0", story)
    sent = ask(page.base, *sending, key="story-1")
    assert sent["reply"]["state"] == "streaming"
    process.send_signal(signal.SIGKILL)
    process.wait(10)

    _, page = start()
    again = ask(page.base, *sending, key="story-1")
    assert (again["message"], again["reply"]["id"]) == (sent["message"], sent["reply"]["id"])
    assert again["reply"]["state"] == "stopped"
    assert ask(page.base, token, "/api/conversations", {"title": "Sea"}, key="chat-1")["id"] == begun["id"]
    assert rows(environment, "SELECT count(*) FROM chat_message") == [(2,)]
    assert rows(environment, "SELECT count(*) FROM chat_conversation") == [(1,)]


def ask(base: str, token: str, path: str, body: Any, *, key: str) -> Any:
    """Send a program's creating request and return what it answers."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Idempotency-Key": key,
    }
    request = urllib.request.Request(base + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)
