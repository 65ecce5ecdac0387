"""uvicorn's protocols with bounds: a client that sends nothing or reads nothing cannot hold a connection.

uvicorn has a time limit between two requests only. Without more, connections that never send a request use up
the descriptors of the process, and a client that never reads keeps its socket, its task, and its place among
the downloads for as long as it likes.
"""

from __future__ import annotations

import asyncio
import sys
from functools import cache
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

if sys.platform != "win32":
    import resource

# A connection is ended after it has been held for MOST_SECONDS, which is looked at every CHECK_SECONDS: by a
# request whose head does not end or whose body does not go on, by a peer that reads nothing, or after it was
# closed.
CHECK_SECONDS, MOST_SECONDS = 10.0, 40.0
# Descriptors that are left for files, the database and the model.
_RESERVED = 200
# The limit of descriptors is raised to this where the system allows it; macOS begins with 256.
_WANTED = 16_384
_UNLIMITED = 1 << 20


@cache
def find_most_connections() -> int:
    """Raise this process's limit of open descriptors, and return how many connections it leaves room for."""
    if sys.platform == "win32":
        return _UNLIMITED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(hard, _WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (OSError, ValueError):
            # Some systems allow less than they name.
            pass
    return _UNLIMITED if soft == resource.RLIM_INFINITY else max(soft - _RESERVED, soft // 2)


class _Hold:
    """How long a connection has been held by the same cause; ends it after MOST_SECONDS."""

    def __init__(self, protocol: BoundedHttp | BoundedSocket, transport: asyncio.Transport) -> None:
        self._protocol, self._transport = protocol, transport
        self._cause, self._since = "", 0.0
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(CHECK_SECONDS, self._check)

    def reset(self) -> None:
        """Begin to count again: the peer has done something."""
        self._cause = ""

    def end(self) -> None:
        """Stop counting."""
        self._timer.cancel()

    def _check(self) -> None:
        cause = "closing" if self._transport.is_closing() else self._protocol.find_cause()
        now = self._loop.time()
        if not cause or cause != self._cause:
            self._cause, self._since = cause, now
        elif now - self._since >= MOST_SECONDS:
            self._transport.abort()
            return
        self._timer = self._loop.call_later(CHECK_SECONDS, self._check)


class BoundedHttp(H11Protocol):
    """An HTTP connection; one too many is ended at once."""

    hold: _Hold

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.hold = _Hold(self, transport)
        if len(self.connections) > find_most_connections():
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.hold.end()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self.hold.reset()

    def resume_writing(self) -> None:
        self.hold.reset()
        super().resume_writing()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        # The protocol of the socket counts from here.
        self.hold.end()
        super().handle_websocket_upgrade(event)

    def find_cause(self) -> str:
        """Return what holds the connection, "" while it works or waits for the next request."""
        if self.flow.write_paused:
            return "writing"
        if self.conn.their_state is h11.SEND_BODY and not self.flow.read_paused:
            return "body"
        is_waiting = self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None
        return "head" if is_waiting else ""


class BoundedSocket(WebSocketsSansIOProtocol):
    """A WebSocket; its application learns by ClientDisconnected that nothing can be sent any more."""

    hold: _Hold

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.hold = _Hold(self, self.transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.hold.end()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        self.hold.reset()
        super().resume_writing()

    def handle_ping(self) -> None:
        # The answers would fill the memory where the peer reads none of them.
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # The request for the socket has too many or too long headers, and uvicorn answers nothing.
            self.transport.write(
                b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            )
            self.transport.close()

    async def send(self, message: Any) -> None:
        try:
            await super().send(message)
        except RuntimeError:
            if not self.close_sent:
                raise
            # uvicorn closed the socket, since the peer did not answer its pings.
            raise ClientDisconnected from None

    def find_cause(self) -> str:
        """Return what holds the connection, "" while it is open and the peer reads."""
        return "" if self.writable.is_set() else "writing"
