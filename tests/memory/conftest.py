"""Gives tests of memory the real embedder."""

from __future__ import annotations

import pytest

from chat.llm.embedder import Embedder
from chat.llm.registry import registry
from tests.small_model import load_real_embedder


@pytest.fixture(scope="session")
def _multilingual_embedder() -> Embedder:
    return load_real_embedder()


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch, _multilingual_embedder: Embedder) -> Embedder:
    """The real multilingual embedder, with which the classifiers of memory decide."""
    monkeypatch.setattr(registry, "_embedder", _multilingual_embedder)
    return _multilingual_embedder
