"""A closed model refuses calls and never touches freed memory."""

from __future__ import annotations

import pytest

from chat.errors import ModelNotReady
from chat.llm.types import GenerationOptions, Turn
from tests.small_model import load_small_model

pytestmark = pytest.mark.model


@pytest.fixture
def closed():
    """SmolLM2-135M, loaded and closed again."""
    with load_small_model(512, threads=1) as provider:
        assert provider.count_text("Hello there") > 0
    return provider


def test_a_closed_model_is_not_ready_for_any_call(closed):
    with pytest.raises(ModelNotReady):
        closed.count_text("Hello there")
    with pytest.raises(ModelNotReady):
        closed.complete([Turn("user", "Hello")], GenerationOptions(slot="any"))
    with pytest.raises(ModelNotReady):
        closed.stream([Turn("user", "Hello")], GenerationOptions.for_reply("any"))
