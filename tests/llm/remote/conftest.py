"""Providers of pretended servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chat.llm.remote import provider as remote_provider
from chat.llm.remote.address import parse
from chat.llm.remote.provider import RemoteProvider
from chat.llm.remote.wire import Patience

from .pretend import Pretender


@pytest.fixture
def connected(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., RemoteProvider]]:
    """Returns a maker of providers for pretended servers, closed at the end; they try again at once."""
    monkeypatch.setattr(remote_provider, "_PAUSES", (0.0, 0.0))
    made = []

    def connect(server: Pretender, **patience: Any) -> RemoteProvider:
        provider = RemoteProvider(parse(server.url), patience=Patience(**patience))
        provider.connect()
        made.append(provider)
        return provider

    yield connect
    for provider in made:
        provider.close()
