"""The fixed prompts are read at the start also where the embedder cannot be loaded."""

import pytest

from chat.jobs import prompts
from chat.llm.registry import registry


@pytest.mark.django_db
@pytest.mark.parametrize("error", [OSError("its weights have gone"), SystemError("recursion depth mismatch")])
def test_an_embedder_that_cannot_be_loaded_does_not_end_the_warming(monkeypatch, error):
    class Failing:
        name = "failing"

        def embed(self, texts):
            raise error

    waited = []
    monkeypatch.setattr(registry, "_embedder", Failing())
    monkeypatch.setattr(registry, "wait_ready", lambda seconds: waited.append(seconds))
    prompts.warm_fixed_prompts()
    assert waited
