"""Request bodies over the limit are refused with a message before they are written to disk, at every URL."""

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

from chat.actions.api_tokens import create_token
from chat.actions.importing import uploads

pytestmark = pytest.mark.django_db

SMALL = machine.DATA_UPLOAD_MAX_MEMORY_SIZE
OURS = {"origin": "http://testserver"}
FILE = {"content-type": "multipart/form-data; boundary=x"}
CHUNK = b"x" * (1 << 19)
PAGES = ["/", "/login/", "/send/", "/settings/import/"]
EVERYWHERE = [*PAGES, "/api/import", "/api/facts", "/v1/chat/completions"]


class Sender:
    """Sends an endless body until it is answered, and records the response."""

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
        # Let other tasks run, as a real socket does.
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
def spooled_bytes(monkeypatch):
    """The number of body bytes that Django writes to its temporary file."""
    sizes = [0]

    class Counted(SpooledTemporaryFile[bytes]):
        def write(self, data):
            sizes[0] += len(data)
            return super().write(data)

    monkeypatch.setattr(asgi.tempfile, "SpooledTemporaryFile", Counted)
    return sizes


@pytest.fixture
def send_body(monkeypatch):
    """Return a function that sends a body to the application within the test's own transaction."""
    from memoryapp.asgi import application

    monkeypatch.setattr("channels.db.close_old_connections", lambda: None)
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)

    def send_body(path, headers=None, **more):
        sender = Sender(path, headers or {}, **more)
        async_to_sync(application)(sender.scope, sender.receive, sender.send)
        return sender

    yield send_body
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.parametrize("declared", [1 << 40, None], ids=["by its header", "by counting"])
@pytest.mark.parametrize("path", EVERYWHERE)
def test_without_login_no_body_is_written_to_disk(server_mode, send_body, spooled_bytes, path, declared):
    answer = send_body(path, OURS, declared=declared)
    assert answer.status in ({302} if path == "/settings/import/" else {401, 413})
    assert spooled_bytes[0] <= (0 if declared else SMALL)


@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {}], ids=["another", "none"])
@pytest.mark.parametrize("path", ["/settings/import/", "/api/import"])
def test_a_body_from_another_site_is_not_written_to_disk(owner, send_body, spooled_bytes, path, headers):
    assert send_body(path, headers).status in (401, 403)
    assert spooled_bytes[0] <= SMALL


class TestOwner:
    def test_can_upload_a_file_up_to_the_limit(self, owner, send_body, spooled_bytes, monkeypatch):
        monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 4 << 20)
        assert send_body("/settings/import/", OURS, chunks=8).status != 413
        assert spooled_bytes[0] == 4 << 20
        assert send_body("/settings/import/", OURS, chunks=9).status == 413
        assert send_body("/settings/import/", OURS, declared=5 << 20).status == 413
        assert spooled_bytes[0] < 9 << 20

    def test_gets_a_page_with_the_error(self, owner, send_body, spooled_bytes):
        answer = send_body("/settings/import/", OURS, declared=1 << 30)
        assert (answer.status, spooled_bytes[0]) == (413, 0)
        page = answer.body.decode()
        assert "This file is larger than 256 MB. Import it in the terminal: manage.py import_memory" in page
        assert "script-src 'self'" in answer.headers["content-security-policy"]

    def test_gets_a_toast_with_the_error(self, owner, send_body):
        answer = send_body("/send/", {**OURS, "hx-request": "true"}, declared=SMALL + 1)
        assert answer.status == 413
        assert answer.body.decode() == "This is larger than 2.5\xa0MB and was not accepted."
        assert answer.headers["content-type"].startswith("text/plain")

    def test_gets_a_problem_document_in_a_program(self, owner, send_body):
        token = {"authorization": f"Bearer {create_token(owner, 'A program')}"}
        answer = send_body("/api/import", token, declared=1 << 30)
        assert (answer.status, answer.headers["content-type"]) == (413, "application/problem+json")
        told = json.loads(answer.body)
        assert told["detail"].startswith("This file is larger than 256 MB.")
        for path in ("/api/facts", "/v1/chat/completions"):
            answer = send_body(path, token)
            assert answer.status == 413
            assert b"larger than 2.5" in answer.body

    def test_needs_a_login_on_a_server(self, server_mode, owner, send_body, logged_in, spooled_bytes):
        cookie = SimpleCookie({machine.SESSION_COOKIE_NAME: logged_in(owner).cookies["sessionid"].value})
        known = {**OURS, "cookie": cookie.output(header="").strip()}
        assert send_body("/settings/import/", known, chunks=8).status != 302
        assert spooled_bytes[0] == 4 << 20
        assert (
            send_body("/settings/import/", {**known, "origin": "http://evil.example"}, chunks=8).status == 403
        )
        assert spooled_bytes[0] <= (4 << 20) + SMALL
