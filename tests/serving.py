"""The real server in a thread of the test's process, its job threads beside it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from chat.generation import run as generation
from chat.jobs.runner import JobRunner
from tests.page_client import free_port


@contextmanager
def served() -> Iterator[str]:
    """Give the address of a running server; its database and its model are the test's."""
    from memoryapp.asgi import application

    port = free_port()
    config = uvicorn.Config(
        application,
        port=port,
        log_level="warning",
        lifespan="off",
        ws="websockets-sansio",
        proxy_headers=False,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    runner = JobRunner()
    runner.start()
    while not server.started:
        thread.join(0.02)
    yield f"http://127.0.0.1:{port}"
    generation.drain()
    runner.stop()
    server.should_exit = True
    thread.join(10)
