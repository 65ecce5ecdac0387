"""Sockets that send nothing, read nothing or ask for too much take little from the others."""

from __future__ import annotations

import gc
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.test import Client

from chat.actions.messages import send_message
from chat.generation import run as generation
from chat.generation.hub import QUEUE_LENGTH, Watcher, hub
from memoryapp import connections
from tests.page_client import PageClient
from tests.raw_socket import (
    PING,
    TEXT,
    build_frame,
    build_handshake,
    connect,
    is_closed_by_server,
    open_socket,
)
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
IDLE, SLOW = 270, 30
TINY = 2048  # bytes of a receive buffer
RESYNC = build_frame(json.dumps({"type": "resync"}).encode())


@pytest.fixture
def impatient(monkeypatch):
    """Let the server end a held connection after a second."""
    monkeypatch.setattr(connections, "CHECK_SECONDS", 0.1)
    monkeypatch.setattr(connections, "MOST_SECONDS", 1.0)


@pytest.fixture
def opened():
    """A list of clients that are closed at the end of the test."""
    clients: list[socket.socket] = []
    yield clients
    for client in clients:
        client.close()


@pytest.fixture
def long_reply(owner, scripted, gate):
    """A reply with a word of 400,000 letters that is being written and does not end by itself."""
    scripted.replies.append(f"{'word' * 100_000}\n\n end")
    _, reply = send_message(owner, "Tell me everything.")
    generation.start(reply)
    gate.release(1)
    wait_until(lambda: "word" in str(hub.snapshot(str(reply.conversation_id))))
    return reply


def watchers_of(reply) -> list[Watcher]:
    return list(hub._watchers.get(str(reply.conversation_id), ()))


def open_reader_that_never_reads(address, reply) -> socket.socket:
    """Return a socket that asks for the whole reply again and again until the server cannot send any more."""
    client = open_socket(address, str(reply.conversation_id), receive_buffer=TINY)
    wait_until(lambda: watchers_of(reply))
    [served] = find_sockets_of_server()
    client.settimeout(1)
    for _ in range(200):
        client.sendall(RESYNC)
        if not served.writable.is_set():
            break
        time.sleep(0.02)
    assert not served.writable.is_set()
    return client


def test_a_page_and_a_reply_come_beside_hundreds_of_idle_and_slow_sockets(address, owner, scripted, opened):
    page = PageClient(address)
    watched = page.begin("Hello.")
    with ThreadPoolExecutor(16) as pool:
        opened += pool.map(lambda _n: open_socket(address), range(IDLE))
        opened += pool.map(lambda _n: open_socket(address, watched, receive_buffer=TINY), range(SLOW))
    # A socket is open a moment before it watches.
    wait_until(lambda: len(hub._watchers[watched]) == SLOW)
    [*watchers] = hub._watchers[watched]
    scripted.replies.append("word " * 30_000 + "end.")
    began = time.monotonic()
    reply = page.say("Once more.", watched)
    assert "end." in reply.html
    assert time.monotonic() - began < 60
    assert all(watcher.frames.qsize() <= QUEUE_LENGTH for watcher in watchers)
    for client in opened:
        client.close()
    wait_until(lambda: not hub.is_watched(watched), 30)


def test_a_reader_that_reads_nothing_is_dropped_and_forgotten(address, long_reply, opened, impatient):
    opened.append(open_reader_that_never_reads(address, long_reply))
    wait_until(lambda: not watchers_of(long_reply), 30)
    # What the kernel had taken comes first.
    wait_until(lambda: is_closed_by_server(opened[0]))
    assert Client().get("/").status_code == 200


def test_a_reader_that_breaks_off_while_it_is_sent_to_is_forgotten(address, long_reply, opened):
    client = open_reader_that_never_reads(address, long_reply)
    # Its answer waits behind the reply.
    client.sendall(build_frame(b'{"type": "ping"}'))
    time.sleep(0.5)
    client.close()
    wait_until(lambda: not watchers_of(long_reply), 20)


def test_pings_whose_answers_nobody_reads_are_not_answered(address, owner, opened):
    client = open_socket(address, receive_buffer=TINY)
    opened.append(client)
    client.settimeout(2)
    pings = build_frame(b"x" * 125, PING) * 500
    for _ in range(200):
        client.sendall(pings)
    [served] = find_sockets_of_server()
    assert served.transport.get_write_buffer_size() < 1 << 20
    assert PageClient(address).get("/")


def find_sockets_of_server() -> list[connections.BoundedSocket]:
    return [
        one for one in gc.get_objects() if type(one) is connections.BoundedSocket and not one.disconnected
    ]


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost: a\r\n", b"GET /ws/ HTTP/1.1\r\nUpgrade: websocket\r\n"]
)
def test_a_connection_without_a_whole_request_is_ended(address, opened, impatient, sent):
    opened.append(connect(address))
    opened[0].sendall(sent)
    wait_until(lambda: is_closed_by_server(opened[0]), 10)


def test_a_body_that_does_not_go_on_is_ended(address, owner, opened, impatient):
    opened.append(connect(address))
    head = f"POST /send/ HTTP/1.1\r\nHost: {address[7:]}\r\nOrigin: {address}\r\nContent-Length: 100\r\n\r\n"
    for piece in (head.encode(), *[b"text"] * 5):
        opened[0].sendall(piece)
        time.sleep(0.4)
    assert not is_closed_by_server(opened[0])
    wait_until(lambda: is_closed_by_server(opened[0]), 10)


def test_a_second_request_that_does_not_end_is_ended_too(address, owner, opened, impatient):
    opened.append(connect(address))
    opened[0].sendall(f"GET /model/ HTTP/1.1\r\nHost: {address[7:]}\r\n\r\n".encode())
    assert opened[0].recv(100).startswith(b"HTTP/1.1 302")
    opened[0].sendall(b"GET / HT")
    wait_until(lambda: is_closed_by_server(opened[0]), 10)


def test_a_connection_that_asks_again_and_again_stays(address, owner, opened, impatient):
    client = connect(address)
    opened.append(client)
    for _ in range(8):
        client.sendall(f"GET /model/ HTTP/1.1\r\nHost: {address[7:]}\r\n\r\n".encode())
        assert client.recv(1 << 16).startswith(b"HTTP/1.1 302")
        time.sleep(0.25)


def test_beyond_the_limit_connections_are_ended_and_the_others_are_served(
    address, owner, opened, monkeypatch
):
    page = PageClient(address)
    monkeypatch.setattr(connections, "find_most_connections", lambda: 5)
    opened += [connect(address) for _ in range(5)]
    opened[0].sendall(f"GET /model/ HTTP/1.1\r\nHost: {address[7:]}\r\n\r\n".encode())
    assert opened[0].recv(100).startswith(b"HTTP/1.1 302")
    opened += [connect(address) for _ in range(20)]
    wait_until(lambda: sum(map(is_closed_by_server, opened[5:])) == 20)
    assert not any(map(is_closed_by_server, opened[1:5]))
    for client in opened[:5]:
        client.close()
    wait_until(lambda: "memoryapp" in page.get("/"))


def test_a_socket_with_too_long_headers_gets_an_error_and_is_forgotten(address, opened):
    client = connect(address)
    opened.append(client)
    client.sendall(build_handshake(address, Cookie="a" * 20_000))
    assert client.recv(1000).startswith(b"HTTP/1.1 400 ")
    wait_until(lambda: is_closed_by_server(client))
    wait_until(lambda: not find_sockets_of_server())


def test_a_text_frame_of_many_empty_pieces_is_answered(address, owner, opened):
    client = open_socket(address)
    opened.append(client)
    client.sendall(build_frame(b'{"type":', final=False) + build_frame(b"", 0, final=False) * 1000)
    client.sendall(build_frame(b'"ping"}', 0))
    assert json.loads(client.recv(1000)[2:]) == {"type": "pong"}
    client.sendall(build_frame(b"\xff\xfe", TEXT))
    assert client.recv(1000)[:1] == b"\x88"
