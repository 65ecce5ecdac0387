"""A process that is killed at any moment loses at most a second of a reply and repeats no work."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any
from uuid import UUID

import pytest

from tests.data_folder import build_environment, make_data_folder, query_database
from tests.llm.remote.fake_server import MODELS, only_when_streamed, run_fake_server, stream_pieces
from tests.page_client import PageClient, start_server_process
from tests.small_model import use_small_model

pytestmark = [pytest.mark.model, pytest.mark.slow]

EXTRACTING = "SELECT 1 FROM chat_job WHERE kind='extract' AND lease_until > ''"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Environment variables with a new migrated data folder and without a model."""
    make_data_folder(tmp_path / "data")
    return build_environment(tmp_path / "data", MODEL_DIR=str(tmp_path / "none"))


@pytest.fixture
def with_small_model(environment: dict[str, str]) -> None:
    """Let servers load the small real model."""
    use_small_model(environment)


class ModelServer:
    """A scripted model server. It answers replies at once, or in the middle of them writes no more, and an
    extraction when it is `released`.
    """

    def __init__(self, rows: Callable[[str], list[Any]]) -> None:
        self._rows = rows
        self.ends_replies = True
        self.released = Event()

    def answer(self, _body: dict[str, Any]) -> Iterator[Any]:
        """Yield the chunks of a stream."""
        if self._rows(EXTRACTING):
            self.released.wait(60)
            return stream_pieces("home: User lives in Oslo")
        return stream_pieces("Once upon a time ", "there was a lighthouse.", then=self._end())

    def _end(self) -> Iterator[Any]:
        if not self.ends_replies:
            self.released.wait(60)
        yield from ()


@pytest.fixture
def model(environment: dict[str, str], rows: Callable[[str], list[Any]]) -> Iterator[ModelServer]:
    """The scripted model server that servers use."""
    model = ModelServer(rows)
    paths = {"v1__models": MODELS, "v1__chat__completions": only_when_streamed(model.answer)}
    with run_fake_server(**paths) as server:
        environment["PROVIDER_URL"] = server.url
        yield model
        model.released.set()


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Callable[[], tuple[subprocess.Popen[bytes], PageClient]]]:
    """Return a function that starts the real server; servers that still run at the end are killed."""
    running = []

    def start_server() -> tuple[subprocess.Popen[bytes], PageClient]:
        process, base = start_server_process(environment, "manage.py", "serve", "--no-browser", "--port")
        running.append(process)
        return process, PageClient(base)

    yield start_server
    for process in running:
        process.kill()
        process.wait(10)


@pytest.fixture
def rows(environment: dict[str, str]) -> Callable[[str], list[Any]]:
    """Return a function that queries the database as another program."""
    return partial(query_database, Path(environment["DATA_DIR"]))


def poll(condition: Callable[[], Any], seconds: float = 90) -> Any:
    """Poll until the condition returns a true value, and return it; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return value


@pytest.mark.usefixtures("with_small_model")
def test_a_reply_interrupted_by_a_kill_is_stopped_and_can_be_retried(start, rows):
    process, page = start()
    _, html = page.post("/send/", text="Write a very long story about a lighthouse keeper and the sea.")
    reply = re.findall(r'data-id="([^"]+)"', html)[-1]
    poll(lambda: rows("SELECT 1 FROM chat_message WHERE seq=2 AND length(content) > 40"))
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    [(state, before)] = rows("SELECT state, content FROM chat_message WHERE role='assistant'")
    assert state == "streaming"

    _, page = start()
    [(state, after)] = rows("SELECT state, content FROM chat_message WHERE role='assistant'")
    assert (state, after) == ("stopped", before)
    shown = page.get(f"/m/{reply}/")
    assert before.split()[0] in shown
    assert f"/m/{reply}/retry/" in shown
    page.post(f"/m/{reply}/retry/")
    poll(lambda: rows("SELECT 1 FROM chat_message WHERE seq=3 AND length(content) > 10"))
    assert rows("SELECT content FROM chat_message WHERE state='stopped'") == [(before,)]


def test_an_extraction_interrupted_by_a_kill_finishes_once(start, rows, model):
    process, page = start()
    page.begin("I live in Oslo and I work as a carpenter. Answer with one word.")
    poll(lambda: rows(EXTRACTING))
    process.send_signal(signal.SIGKILL)
    process.wait(10)

    model.released.set()
    start()
    poll(lambda: not rows("SELECT 1 FROM chat_job WHERE kind='extract'"))
    assert rows("SELECT seq FROM chat_extractionrun JOIN chat_message m ON m.id = message_id") == [(1,)]
    assert rows("SELECT extracted_through FROM chat_conversation") == [(1,)]
    assert sorted(rows("SELECT text FROM chat_fact")) == [
        ("User lives in Oslo",),
        ("“I work as a carpenter”",),
    ]


@pytest.mark.usefixtures("with_small_model")
def test_an_extraction_interrupted_by_shutdown_runs_at_the_next_start(start, rows, environment, model):
    scripted = environment.pop("PROVIDER_URL")
    process, page = start()
    page.begin("I live in Oslo and I work as a carpenter. Answer with one word.")
    poll(lambda: rows(EXTRACTING))
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    state = "SELECT lease_until, attempts, last_error FROM chat_job WHERE kind='extract'"
    if rows("SELECT extracted_through FROM chat_conversation") == [(0,)]:
        assert rows(state) == [(None, 0, "")]
        rows("UPDATE chat_job SET run_after = datetime('now') WHERE kind='extract'")

    # The scripted model does the work in an instant.
    environment["PROVIDER_URL"] = scripted
    model.released.set()
    start()
    poll(lambda: rows("SELECT 1 FROM chat_conversation WHERE extracted_through = 1"))


def test_deletions_and_temporary_conversations_are_purged_after_a_kill(start, rows, model):
    process, page = start()
    page.post("/memory/add/", text="User collects stamps")
    [(pk,)] = rows("SELECT id FROM chat_fact")
    page.post(f"/memory/{UUID(pk)}/delete/")
    url, _ = page.post("/send/", text="Hello")
    page.post("/send/", text="Hello", temporary="1")
    assert len(rows("SELECT id FROM chat_conversation")) == 2
    page.post(f"/c/{url.rstrip('/').rsplit('/', 1)[-1]}/delete/")
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    assert rows("SELECT state FROM chat_deletion") == [("pending",), ("pending",)]
    rows("UPDATE chat_deletion SET expires_at = datetime('now')")

    start()
    poll(lambda: rows("SELECT temporary FROM chat_conversation") == [(1,)])
    # The time for a page to open the temporary conversation again.
    rows("UPDATE chat_job SET run_after = datetime('now') WHERE kind='discard'")
    poll(lambda: not rows("SELECT 1 FROM chat_conversation"), seconds=60)
    poll(lambda: rows("SELECT state FROM chat_deletion") == [("done",), ("done",)])
    assert rows("SELECT 1 FROM chat_message") == []
    assert rows("SELECT text FROM chat_fact") == []
    assert json.dumps(rows("SELECT before, after FROM chat_factevent")) == "[]"


def test_after_a_kill_a_cleared_memory_is_restored_and_no_request_with_a_key_is_repeated(start, rows, model):
    model.ends_replies = False
    process, page = start()
    _, html = page.post("/settings/tokens/", name="a program", scope="chat", end="0")
    token = re.findall(r"mem_[\w-]{43}", html)[0]
    begun = post_json(page.base, token, "/api/conversations", {"title": "Sea"}, key="chat-1")
    story = {"content": "Write a very long story about a lighthouse keeper and the sea."}
    sending = (token, f"/api/conversations/{begun['id']}/messages?wait=0", story)
    sent = post_json(page.base, *sending, key="story-1")
    assert sent["reply"]["state"] == "streaming"
    page.post("/memory/add/", text="User collects stamps")
    page.post("/memory/clear/")
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    [(pk,)] = rows("SELECT id FROM chat_deletion WHERE state='pending'")
    # Extend the undo window, because the server's start can take longer than the window.
    rows("UPDATE chat_deletion SET expires_at = datetime('now', '+5 minutes')")

    _, page = start()
    assert "Memory cleared" in page.get("/memory/")
    page.post(f"/memory/undo/{UUID(pk)}/")
    assert rows("SELECT text, deletion_id FROM chat_fact") == [("User collects stamps", None)]
    assert "Collects stamps" in page.get("/memory/")
    again = post_json(page.base, *sending, key="story-1")
    # The thread of the reply assigns the topic, before or after the response.
    assert {**again["message"], "topic": None} == {**sent["message"], "topic": None}
    assert again["reply"]["id"] == sent["reply"]["id"]
    assert again["reply"]["state"] == "stopped"
    assert (
        post_json(page.base, token, "/api/conversations", {"title": "Sea"}, key="chat-1")["id"] == begun["id"]
    )
    assert rows("SELECT count(*) FROM chat_message") == [(2,)]
    assert rows("SELECT count(*) FROM chat_conversation") == [(1,)]


def post_json(base: str, token: str, path: str, body: Any, *, key: str) -> Any:
    """Send a POST request of the REST API with an idempotency key and return the JSON response."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Idempotency-Key": key,
    }
    request = urllib.request.Request(base + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)
