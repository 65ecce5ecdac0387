"""A manager of the local owner's sessions."""

from __future__ import annotations

import pytest

from chat.api import MemoryManager


@pytest.fixture
def manager(owner):
    return MemoryManager()
