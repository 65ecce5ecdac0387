"""A full disk is named on every door, nothing is half saved, and all goes on once there is room."""

from __future__ import annotations

import errno
import json
from contextlib import contextmanager

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import DatabaseError, OperationalError, connection
from django.db.backends.signals import connection_created
from django.test import Client

from chat.actions.api_tokens import create_token
from chat.actions.importing import uploads
from chat.actions.messages import send_message
from chat.disk_full import is_disk_full
from chat.generation import run as generation
from chat.models import Fact, Message

from .owned_objects import ORIGIN

TOLD = "The disk is full, so this was not saved."
LONG = "I like long messages. " * 4000


@contextmanager
def full_disk():
    """Let SQLite's file grow no more; SQLite reports it as it does a full disk."""
    with connection.cursor() as cursor:
        # Without it, pages that earlier tests have freed would be used.
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA page_count")
        pages = cursor.fetchone()[0]

    def limit(connection, **_: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA max_page_count = {pages}")

    # SQLite keeps this limit for one connection only, and each request opens a new connection.
    connection_created.connect(limit)
    connection.close()
    try:
        yield
    finally:
        connection_created.disconnect(limit)
        connection.close()


@pytest.fixture
def _sqlite():
    if connection.vendor != "sqlite":
        pytest.skip("the limit is one of SQLite's")


@pytest.fixture
def client_of_owner(owner) -> Client:
    return Client(headers={"origin": ORIGIN}, raise_request_exception=False)


pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_sqlite")]


@pytest.mark.parametrize("htmx", [False, True])
def test_a_page_says_it_and_the_message_is_sent_once_there_is_room(client_of_owner, scripted, htmx):
    headers = {"hx-request": "true"} if htmx else {}
    data = {"text": LONG, "key": "k" * 20}
    with full_disk():
        refused = client_of_owner.post("/send/", data, headers=headers)
        assert refused.status_code == 507
        assert TOLD in refused.content.decode()
        assert refused.headers["Content-Type"].startswith("text/plain" if htmx else "text/html")
        assert client_of_owner.get("/").status_code == 200
    assert not Message.objects.exists()
    sent = client_of_owner.post("/send/", data, headers=headers)
    assert sent.status_code in (200, 302)
    generation.wait_all()
    assert Message.objects.filter(role="user").count() == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/facts", {"text": "I like tea"}),
        ("/v1/chat/completions", {"model": "any", "messages": [{"role": "user", "content": LONG}]}),
    ],
)
def test_programs_get_a_problem_and_can_repeat_the_request(owner, scripted, path, body, monkeypatch):
    headers = {"authorization": f"Bearer {create_token(owner, 'a program')}"}
    program = Client(headers=headers, raise_request_exception=False)

    def post():
        return program.post(path, json.dumps(body), content_type="application/json")

    def fail(*args, **more):
        raise OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("django.db.models.query.QuerySet.create", fail)
        patch.setattr("django.db.models.query.QuerySet.bulk_create", fail)
        patch.setattr("django.db.models.base.Model.save", fail)
        refused = post()
    assert refused.status_code == 507
    assert TOLD in refused.content.decode()
    assert not Message.objects.exists()
    assert not Fact.objects.exists()
    assert post().status_code in (200, 201)
    generation.wait_all()


def test_an_upload_says_it(client_of_owner, monkeypatch):
    def fail(*args, **more):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(uploads, "_write_upload", fail)
    file = SimpleUploadedFile("a.json", b"[]")
    refused = client_of_owner.post("/settings/import/", {"file": file})
    assert refused.status_code == 507
    assert TOLD in refused.content.decode()


def test_the_end_of_a_reply_is_saved_once_there_is_room(owner, scripted, gate, monkeypatch):
    monkeypatch.setattr("chat.generation.reply_end._PAUSE_SECONDS", 0.0)
    scripted.replies.append("One two three")
    _, reply = send_message(owner, "Count")

    def fail(*args, **more):
        raise OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("chat.actions.messages.finish_reply", fail)
        generation.start(reply)
        gate.release(100)
        generation.wait_all()
    generation.save_unsaved_ends()
    reply.refresh_from_db()
    assert (reply.state, reply.content) == ("complete", "One two three")


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OperationalError("database or disk is full"), True),
        (DatabaseError('could not extend file "base/1": No space left on device'), True),
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OperationalError("database is locked"), False),
        (OSError(errno.EACCES, "Permission denied"), False),
        (ValueError("the disk is full"), False),
        (None, False),
    ],
)
def test_the_errors_of_a_full_disk_are_recognised(error, full):
    assert is_disk_full(error) is full
