"""Any frame and any address of a socket: the server answers the next frame, or closes with a known code."""

from __future__ import annotations

import json
import logging
import os
import socket as sockets
import struct
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.actions.messages import send_message
from chat.generation import run as generation
from tests.raw_socket import TEXT, build_frame, build_handshake, connect, open_socket

pytestmark = pytest.mark.django_db(transaction=True)
CLOSE, BINARY = 0x8, 0x2
# Of RFC 6455: normal, going away, protocol error, wrong kind of data, no code, not UTF-8, too large.
KNOWN_CODES = {1000, 1001, 1002, 1003, 1005, 1007, 1009, 4401, 4404}
PING = build_frame(b'{"type": "ping"}')

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8)
    | st.sampled_from(["ping", "hello", "resync", "stop", "pong", "9" * 5000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
orders = st.fixed_dictionaries(
    {"type": st.sampled_from(["ping", "hello", "resync", "stop"]) | values},
    optional={"reply": values, "seq": values, "model": values, "conversation": values},
)
json_frames = (orders | values).map(lambda value: build_frame(json.dumps(value).encode()))
text_frames = st.text(st.characters(exclude_categories=["Cs"])).map(lambda text: build_frame(text.encode()))
byte_frames = st.binary(max_size=200).map(lambda data: build_frame(data, BINARY))
# Any opcode, reserved bits, text that is no UTF-8, and pieces of messages.
broken_frames = st.builds(
    build_frame, st.binary(max_size=130), st.integers(0, 0x7F), final=st.booleans()
) | st.binary(max_size=40)


class Client:
    """A client that reads whole frames."""

    def __init__(self, connection: sockets.socket) -> None:
        self.connection = connection
        self.data = b""

    def read_frame(self) -> tuple[int, bytes]:
        """Return the opcode and the data of the next frame; raise EOFError at the end of the connection."""
        head = self._take(2)
        length = head[1]
        if length == 126:
            length = struct.unpack("!H", self._take(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", self._take(8))[0]
        return head[0] & 0xF, self._take(length)

    def _take(self, count: int) -> bytes:
        while len(self.data) < count:
            fresh = self.connection.recv(1 << 16)
            if not fresh:
                raise EOFError
            self.data += fresh
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def is_answered_or_closed(self) -> bool:
        """Return whether a ping is answered, or the server closes with a known code."""
        try:
            self.connection.sendall(PING)
            while True:
                opcode, data = self.read_frame()
                if opcode == TEXT and json.loads(data) == {"type": "pong"}:
                    return True
                if opcode == CLOSE:
                    return (struct.unpack("!H", data[:2])[0] if data else 1005) in KNOWN_CODES
        except (EOFError, ConnectionError):
            # Closed before the answer, which a client sees where it sends after a close.
            return True


@pytest.fixture
def no_errors(caplog):
    """Let the test fail where the server has logged an error or an exception."""
    with caplog.at_level(logging.WARNING):
        yield caplog
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info]
    assert [record.getMessage() for record in errors] == []


@pytest.fixture
def watched(owner, scripted, gate):
    """A conversation in which a reply is being written."""
    _, reply = send_message(owner, "Hello.")
    generation.start(reply)
    return str(reply.conversation_id)


def test_a_ping_is_answered_after_any_json_text_or_bytes(address, watched, no_errors):
    client = Client(open_socket(address, watched))

    @settings(max_examples=150)
    @given(st.lists(json_frames | text_frames | byte_frames, min_size=1, max_size=4))
    def check(frames):
        client.connection.sendall(b"".join(frames) + PING)
        while (found := client.read_frame())[0] != TEXT or json.loads(found[1])["type"] != "pong":
            assert found[0] == TEXT

    check()
    client.connection.close()


def test_after_a_broken_frame_the_socket_answers_or_closes_with_its_code(address, watched):
    @settings(max_examples=40)
    @given(st.lists(broken_frames | json_frames, min_size=1, max_size=4))
    def check(frames):
        client = Client(open_socket(address, watched))
        # A piece of a frame whose rest does not come gets no answer.
        client.connection.settimeout(0.3)
        with suppress(TimeoutError, ConnectionError):
            client.connection.sendall(b"".join(frames))
            assert client.is_answered_or_closed()
        client.connection.close()

    check()
    assert Client(open_socket(address)).is_answered_or_closed()


def test_any_address_and_header_of_a_socket_is_answered(address, owner, no_errors):
    names = st.sampled_from(
        ["Host", "Origin", "Cookie", "Authorization", "X-Forwarded-For", "Sec-WebSocket-Protocol"]
    )
    # What a header line can hold.
    lines = st.text(
        st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=40
    )
    paths = st.sampled_from(["/ws/", "/ws", "/", "/ws/x/", "//", "/ws/%00", "/ws/%ff/", "/static/x"])
    queries = st.binary(max_size=30).map(
        lambda data: "".join(f"%{byte:02x}" for byte in data)
    ) | st.sampled_from(
        [
            "",
            "conversation=%00",
            "conversation=",
            "zone=%00",
            "zone=" + "a" * 5000,
            "conversation=a&" * 500,
            "%",
        ]
    )

    @settings(max_examples=150)
    @given(paths, queries, st.dictionaries(names, lines, max_size=2))
    def check(path, query, headers):
        client = connect(address)
        client.settimeout(10)
        request = build_handshake(address, **headers).replace(b"GET /ws/", f"GET {path}?{query}".encode(), 1)
        client.sendall(request)
        status = client.recv(1 << 16)
        client.close()
        assert status[:12] in (b"HTTP/1.1 101", b"HTTP/1.1 403", b"HTTP/1.1 400", b"HTTP/1.1 404"), status

    check()


def test_a_very_long_frame_closes_the_socket_only(address, owner):
    client = Client(open_socket(address))
    with pytest.raises(ConnectionError):
        client.connection.sendall(build_frame(os.urandom(1 << 20)) * 60)
    assert Client(open_socket(address)).is_answered_or_closed()
