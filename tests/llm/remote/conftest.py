"""Providers connected to fake servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chat.llm.remote import provider as remote_provider
from chat.llm.remote.address import parse_address
from chat.llm.remote.provider import RemoteProvider
from chat.llm.remote.server_use import ServerUse
from chat.llm.remote.transport import Timeouts

from .fake_server import FakeServer


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., RemoteProvider]]:
    """Return a function that connects a provider to fake servers; retries have no pause."""
    monkeypatch.setattr(remote_provider, "_PAUSES", (0.0, 0.0))
    made = []

    def connect(*servers: FakeServer, use: ServerUse | None = None, **patience: Any) -> RemoteProvider:
        addresses = [parse_address(server.url) for server in servers]
        provider = RemoteProvider(*addresses, timeouts=Timeouts(**patience), use=use)
        provider.connect()
        made.append(provider)
        return provider

    yield connect
    for provider in made:
        provider.close()
