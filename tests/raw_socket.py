"""WebSockets on bare TCP connections, which read only what a test reads: slow and hostile clients."""

from __future__ import annotations

import base64
import os
import socket
import struct
from urllib.parse import urlsplit

TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA


def connect(base: str, receive_buffer: int = 0) -> socket.socket:
    """Return a TCP connection to a server; `receive_buffer` bounds what the kernel takes for it, in bytes."""
    parts = urlsplit(base)
    client = socket.socket()
    if receive_buffer:
        # Before connecting: the window of the connection follows from it.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    client.settimeout(60)
    client.connect((parts.hostname, parts.port))
    return client


def open_socket(base: str, conversation: str = "", *, receive_buffer: int = 0) -> socket.socket:
    """Return an open WebSocket of a page; raise ConnectionError where the server refuses it."""
    client = connect(base, receive_buffer)
    client.sendall(build_handshake(base, conversation))
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        # Byte by byte, so that no frame behind the head is taken.
        byte = client.recv(1)
        if not byte:
            raise ConnectionError(head.decode("latin1"))
        head += byte
    if b" 101 " not in head.split(b"\r\n", 1)[0]:
        client.close()
        raise ConnectionError(head.decode("latin1"))
    return client


def build_handshake(base: str, conversation: str = "", **headers: str) -> bytes:
    """Return the request that opens the socket of a conversation, or of a page without one."""
    query = f"?conversation={conversation}" if conversation else ""
    given = {
        "Host": urlsplit(base).netloc,
        "Origin": base,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        "Sec-WebSocket-Version": "13",
        **headers,
    }
    lines = [f"GET /ws/{query} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin1")


def build_frame(data: bytes, opcode: int = TEXT, *, final: bool = True) -> bytes:
    """Return one masked frame of a client."""
    first = opcode | (0x80 if final else 0)
    if len(data) < 126:
        head = struct.pack("!BB", first, 0x80 | len(data))
    elif len(data) < 1 << 16:
        head = struct.pack("!BBH", first, 0x80 | 126, len(data))
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, len(data))
    # A mask of zeros leaves the data as it is.
    return head + bytes(4) + data


def is_closed_by_server(client: socket.socket) -> bool:
    """Read what there is, and return whether the server has ended the connection."""
    client.setblocking(False)
    try:
        while client.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
