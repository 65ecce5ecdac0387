"""A model that was closed says so; nothing may touch what was freed."""

from __future__ import annotations

import pytest

from chat.llm import weights
from chat.llm.llama import LlamaProvider
from chat.llm.types import ModelNotReady, Turn
from tests.weights_here import needed

pytestmark = pytest.mark.model


@pytest.fixture
def closed():
    """SmolLM2-135M, loaded and closed again."""
    entry = needed("smollm2-135m")
    errors: list[Exception] = []
    path = weights.path_of(entry, entry.files[0])
    provider = LlamaProvider(entry.name, path, window=512, threads=1, on_error=errors.append)
    provider.engine.start()
    assert provider.engine.ready.wait(120), errors
    assert provider.count_text("Hello there") > 0
    provider.close()
    return provider


def test_whoever_asks_a_closed_model_is_told_that_it_is_not_there(closed):
    with pytest.raises(ModelNotReady):
        closed.count_text("Hello there")
    with pytest.raises(ModelNotReady):
        closed.complete([Turn("user", "Hello")], slot="any")
    with pytest.raises(ModelNotReady):
        closed.stream([Turn("user", "Hello")], slot="any")
