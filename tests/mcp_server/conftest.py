"""A running server, and an assistant of the owner's beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chat.actions.tokens import create_token
from tests.serving import served

from .assistants import Assistant, assistant


@pytest.fixture
def address(transactional_db: None, scripted: Any) -> Iterator[str]:
    """A running server; its database and its model are the test's."""
    with served() as there:
        yield there


@pytest.fixture
def owners(address: str, owner: Any, tmp_path: Path) -> Iterator[Assistant]:
    """The owner's assistant."""
    token = create_token(owner, "assistant")
    with assistant(tmp_path, MEMORYAPP_URL=address, MEMORYAPP_TOKEN=token) as one:
        yield one
