"""The small real model, in this process and behind a llama-server, each loaded once per session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chat.llm.llama import LlamaProvider
from chat.llm.remote.address import parse_address
from chat.llm.remote.provider import RemoteProvider
from chat.llm.state_cache import StateCache
from tests.llm.remote.llama_server import LlamaServer
from tests.small_model import load_small_model, require_small_model

# Context window in tokens; small, so that a test can fill it in seconds.
WINDOW = 512


@pytest.fixture(scope="session")
def llama() -> Iterator[LlamaProvider]:
    """The small model in this process; tests are skipped if its file is missing."""
    with load_small_model(WINDOW, state_cache=StateCache(64 * 1024**2)) as provider:
        yield provider


@pytest.fixture(scope="session")
def served() -> Iterator[LlamaServer]:
    """A llama-server with the small model and two slots."""
    server = LlamaServer(require_small_model(), window=2 * WINDOW).start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def remote(served: LlamaServer) -> Iterator[RemoteProvider]:
    """A provider connected to the llama-server."""
    provider = RemoteProvider(parse_address(served.url))
    provider.connect()
    yield provider
    provider.close()
