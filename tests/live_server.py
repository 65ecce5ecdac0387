"""Runs the real server and its job threads inside the test process."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn
from websockets.exceptions import InvalidState

from chat.generation import run as generation
from chat.jobs.runner import JobRunner
from memoryapp.connections import BoundedHttp, BoundedSocket
from tests.waiting import wait_until


class PromptServer(uvicorn.Server):
    """A server that ends at once. uvicorn looks ten times a second whether it should end, and then waits for
    its connections for at least as long: a minute in hundreds of tests.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and prepare for `end`."""
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        await super().startup(sockets)

    async def main_loop(self) -> None:
        """Serve until `end` is called."""
        await self.on_tick(0)
        await self._ending.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the connections; those with a running request close after its response."""
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            # A socket that the page is closing at this moment ends by itself.
            with suppress(InvalidState):
                connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110 - uvicorn has no event
            await asyncio.sleep(0.005)

    def end(self) -> None:
        """End the server; called from another thread."""
        self._loop.call_soon_threadsafe(self._ending.set)


@contextmanager
def run_server(*, jobs: bool = True) -> Iterator[str]:
    """Run the server with the test's database and model until the block ends; yields its base URL.

    Without `jobs` the database changes by requests only.
    """
    from memoryapp.asgi import application

    # The server gets a bound socket: a free port could be taken before the server binds it.
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        application,
        log_level="warning",
        lifespan="off",
        http=BoundedHttp,
        ws=BoundedSocket,
        proxy_headers=False,
    )
    server = PromptServer(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    runner = JobRunner()
    if jobs:
        runner.start()
    wait_until(lambda: server.started, 60)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    generation.stop_all()
    if jobs:
        runner.stop()
    server.end()
    thread.join(10)
