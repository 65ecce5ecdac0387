"""The real small model, loaded once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from chat.llm import weights
from chat.llm.llama import LlamaProvider
from chat.llm.parking import ParkingLot
from chat.llm.remote.address import parse
from chat.llm.remote.provider import RemoteProvider
from tests.llm.remote.served import LlamaServer
from tests.weights_here import needed, small_model

# Small, so that a test can fill all cells in seconds.
WINDOW = 512


@pytest.fixture(scope="session")
def llama() -> Iterator[LlamaProvider]:
    """SmolLM2-135M in this process; skipped only where its file is missing."""
    with small_model(WINDOW, lot=ParkingLot(64 * 1024**2)) as provider:
        yield provider


@pytest.fixture(scope="session")
def served() -> Iterator[LlamaServer]:
    """The same model behind a real llama-server with two slots."""
    entry = needed("smollm2-135m")
    server = LlamaServer(weights.path_of(entry, entry.files[0]), window=2 * WINDOW).start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def remote(served: LlamaServer) -> Iterator[RemoteProvider]:
    """That model over HTTP, probed."""
    provider = RemoteProvider(parse(served.url))
    provider.connect()
    yield provider
    provider.close()
