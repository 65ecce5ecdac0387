"""Nobody fills the disk: what is too large is refused before it is kept, with a sentence, at every door."""

from __future__ import annotations

import asyncio
import json
from http.cookies import SimpleCookie
from tempfile import SpooledTemporaryFile

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings as machine
from django.core.handlers import asgi
from django.core.signals import request_finished, request_started
from django.db import close_old_connections

from chat.actions.importing import uploads
from chat.actions.tokens import create_token

pytestmark = pytest.mark.django_db

SMALL = machine.DATA_UPLOAD_MAX_MEMORY_SIZE
OURS = {"origin": "http://testserver"}
FILE = {"content-type": "multipart/form-data; boundary=x"}
CHUNK = b"x" * (1 << 19)
PAGES = ["/", "/login/", "/send/", "/settings/import/"]
EVERYWHERE = [*PAGES, "/api/import", "/api/facts", "/v1/chat/completions"]


class Sender:
    """Sends a body without an end until it is answered, and counts what is kept of it."""

    def __init__(self, path, headers, *, declared=None, chunks=10_000):
        named = {"host": "testserver", **FILE, **headers}
        if declared is not None:
            named["content-length"] = str(declared)
        self.scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
            "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
            "headers": [(n.encode(), v.encode()) for n, v in named.items()],
            "client": ("127.0.0.1", 1), "server": ("testserver", 80),
        }  # fmt: skip
        self.left, self.status, self.body, self.headers = chunks, None, b"", {}
        self.answered = False

    async def receive(self):
        if self.answered:
            return {"type": "http.disconnect"}
        # A socket lets others have their turn too.
        await asyncio.sleep(0)
        self.left -= 1
        return {"type": "http.request", "body": CHUNK, "more_body": self.left > 0}

    async def send(self, message):
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {n.decode().lower(): v.decode() for n, v in message["headers"]}
        else:
            self.body += message.get("body", b"")
            self.answered = not message.get("more_body", False)


@pytest.fixture
def kept(monkeypatch):
    """What Django writes of bodies, in bytes."""
    sizes = [0]

    class Counted(SpooledTemporaryFile):
        def write(self, data):
            sizes[0] += len(data)
            return super().write(data)

    monkeypatch.setattr(asgi.tempfile, "SpooledTemporaryFile", Counted)
    return sizes


@pytest.fixture
def say(monkeypatch):
    """Returns a sender to the application; its requests leave the test's own transaction open."""
    from memoryapp.asgi import application

    monkeypatch.setattr("channels.db.close_old_connections", lambda: None)
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)

    def say(path, headers=None, **more):
        sender = Sender(path, headers or {}, **more)
        async_to_sync(application)(sender.scope, sender.receive, sender.send)
        return sender

    yield say
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.parametrize("declared", [1 << 40, None], ids=["by its header", "by counting"])
@pytest.mark.parametrize("path", EVERYWHERE)
def test_of_a_stranger_s_body_nothing_reaches_the_disk(server_mode, say, kept, path, declared):
    answer = say(path, OURS, declared=declared)
    assert answer.status in ({302} if path == "/settings/import/" else {401, 413})
    assert kept[0] <= (0 if declared else SMALL)


@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {}], ids=["another", "none"])
@pytest.mark.parametrize("path", ["/settings/import/", "/api/import"])
def test_nor_of_another_page_s(owner, say, kept, path, headers):
    assert say(path, headers).status in (401, 403)
    assert kept[0] <= SMALL


class TestTheOwner:
    def test_brings_a_file_up_to_its_limit(self, owner, say, kept, monkeypatch):
        monkeypatch.setattr(uploads, "MOST_UPLOADED", 4 << 20)
        assert say("/settings/import/", OURS, chunks=8).status != 413
        assert kept[0] == 4 << 20
        assert say("/settings/import/", OURS, chunks=9).status == 413
        assert say("/settings/import/", OURS, declared=5 << 20).status == 413
        assert kept[0] < 9 << 20

    def test_is_told_on_a_page(self, owner, say, kept):
        answer = say("/settings/import/", OURS, declared=1 << 30)
        assert (answer.status, kept[0]) == (413, 0)
        page = answer.body.decode()
        assert "This file is larger than 256 MB. Import it in the terminal: manage.py import_memory" in page
        assert "script-src 'self'" in answer.headers["content-security-policy"]

    def test_is_told_in_a_toast(self, owner, say):
        answer = say("/send/", {**OURS, "hx-request": "true"}, declared=SMALL + 1)
        assert answer.status == 413
        assert answer.body.decode() == "This is larger than 2.5\xa0MB, so nothing of it was taken."
        assert answer.headers["content-type"].startswith("text/plain")

    def test_s_program_gets_a_problem(self, owner, say):
        token = {"authorization": f"Bearer {create_token(owner, 'A program')}"}
        answer = say("/api/import", token, declared=1 << 30)
        assert (answer.status, answer.headers["content-type"]) == (413, "application/problem+json")
        told = json.loads(answer.body)
        assert told["detail"].startswith("This file is larger than 256 MB.")
        for path in ("/api/facts", "/v1/chat/completions"):
            answer = say(path, token)
            assert answer.status == 413
            assert b"larger than 2.5" in answer.body

    def test_logs_in_first_on_a_server(self, server_mode, owner, say, logged_in, kept):
        cookie = SimpleCookie({machine.SESSION_COOKIE_NAME: logged_in(owner).cookies["sessionid"].value})
        known = {**OURS, "cookie": cookie.output(header="").strip()}
        assert say("/settings/import/", known, chunks=8).status != 302
        assert kept[0] == 4 << 20
        assert say("/settings/import/", {**known, "origin": "http://evil.example"}, chunks=8).status == 403
        assert kept[0] <= (4 << 20) + SMALL
