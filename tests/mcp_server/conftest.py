"""An MCP client of the owner, connected to a running server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chat.actions.api_tokens import create_token
from tests.past_chats.conftest import (  # noqa: F401 - fixtures
    _multilingual_embedder,
    embedder,
    index_all,
    remember,
    store_chat,
)

from .mcp_client import Assistant, start_assistant


@pytest.fixture
def assistant(address: str, owner: Any, tmp_path: Path) -> Iterator[Assistant]:
    """An assistant with a token of the owner."""
    token = create_token(owner, "assistant")
    with start_assistant(tmp_path, MEMORYAPP_URL=address, MEMORYAPP_TOKEN=token) as one:
        yield one
