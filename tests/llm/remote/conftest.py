"""Providers connected to fake servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chat.llm.remote import provider as remote_provider
from chat.llm.remote.address import parse_address
from chat.llm.remote.provider import RemoteProvider
from chat.llm.remote.transport import Timeouts

from .fake_server import FakeServer


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., RemoteProvider]]:
    """Return a function that connects a provider to a fake server; retries have no pause."""
    monkeypatch.setattr(remote_provider, "_PAUSES", (0.0, 0.0))
    made = []

    def connect(server: FakeServer, *, several_owners: bool = False, **patience: Any) -> RemoteProvider:
        provider = RemoteProvider(
            parse_address(server.url), timeouts=Timeouts(**patience), several_owners=several_owners
        )
        provider.connect()
        made.append(provider)
        return provider

    yield connect
    for provider in made:
        provider.close()
