"""A model that was closed says so; nothing may touch what was freed."""

from __future__ import annotations

import pytest

from chat.llm.types import ModelNotReady, Turn
from tests.weights_here import small_model

pytestmark = pytest.mark.model


@pytest.fixture
def closed():
    """SmolLM2-135M, loaded and closed again."""
    with small_model(512, threads=1) as provider:
        assert provider.count_text("Hello there") > 0
    return provider


def test_whoever_asks_a_closed_model_is_told_that_it_is_not_there(closed):
    with pytest.raises(ModelNotReady):
        closed.count_text("Hello there")
    with pytest.raises(ModelNotReady):
        closed.complete([Turn("user", "Hello")], slot="any")
    with pytest.raises(ModelNotReady):
        closed.stream([Turn("user", "Hello")], slot="any")
