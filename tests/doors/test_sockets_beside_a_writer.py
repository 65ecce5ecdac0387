"""While another process holds SQLite's lock, sockets still open and answer."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from contextlib import closing

import httpx2
import pytest
from django.db import connection
from websockets.sync.client import connect
from websockets.typing import Origin

from chat.actions.messages import send_message

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no lock of the whole database"),
]


def open_socket(address: str, **query: object):
    path = "&".join(f"{name}={value}" for name, value in query.items())
    return connect(f"{address.replace('http', 'ws')}/ws/?{path}", origin=Origin(address))


def ping(socket) -> dict[str, str]:
    socket.send(json.dumps({"type": "ping"}))
    return json.loads(socket.recv(timeout=3))


def test_sockets_open_and_answer_while_others_wait_to_write(address, owner):
    chat = send_message(owner, "Hello")[0].conversation
    connection.close()
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            # Each of these waits to store the zone, and to schedule the end of the conversation.
            began = time.monotonic()
            for number in range(10):
                with open_socket(address, conversation=chat.pk, zone="Asia/Tokyo") as waiting:
                    assert ping(waiting) == {"type": "pong"}, number
            with open_socket(address, conversation=chat.pk) as fresh:
                assert ping(fresh) == {"type": "pong"}
            with open_socket(address) as of_no_chat:
                assert ping(of_no_chat) == {"type": "pong"}
            assert time.monotonic() - began < 5
        finally:
            other.execute("ROLLBACK")


def test_pages_open_while_many_requests_wait_to_write(address, owner):
    connection.close()
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            page = httpx2.Client(base_url=address, timeout=30)
            token = page.get("/").text.split('X-CSRFToken": "')[1].split('"')[0]
            headers = {"origin": address, "hx-request": "true", "x-csrftoken": token}
            writers = [
                threading.Thread(
                    target=page.post,
                    args=["/memory/add/"],
                    kwargs={"data": {"text": f"I like tea {n}."}, "headers": headers},
                )
                for n in range(30)
            ]
            for writer in writers:
                writer.start()
            began = time.monotonic()
            assert httpx2.get(f"{address}/settings/", timeout=10).status_code == 200
            assert time.monotonic() - began < 5
        finally:
            other.execute("ROLLBACK")
        for writer in writers:
            writer.join(30)
