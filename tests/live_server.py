"""Runs the real server and its job threads inside the test process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from chat.generation import run as generation
from chat.jobs.runner import JobRunner
from tests.page_client import free_port


@contextmanager
def run_server() -> Iterator[str]:
    """Run the server with the test's database and model until the block ends; yields its base URL."""
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
    generation.stop_all()
    runner.stop()
    server.should_exit = True
    thread.join(10)
