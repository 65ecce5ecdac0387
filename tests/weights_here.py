"""Real weights for the tests that need them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from chat.llm import weights
from chat.llm.llama import LlamaProvider, default_threads


def needed(name: str) -> weights.Entry:
    """Return a model of the catalogue, or skip the test that asks for it, saying how to get the file."""
    entry = weights.entry_named(name)
    if not weights.is_present(entry):
        pytest.skip(f"the weights of {name} are missing: `manage.py weights fetch {name}`")
    return entry


@contextmanager
def small_model(window: int, **how: Any) -> Iterator[LlamaProvider]:
    """Give SmolLM2-135M in this process, loaded and with a window of so many tokens, and close it after that.

    `how` goes to the provider. The test that asks for it is skipped only where the file is missing.
    """
    entry = needed("smollm2-135m")
    errors: list[Exception] = []
    how = {"threads": default_threads(), "on_error": errors.append, **how}
    provider = LlamaProvider(entry.name, weights.path_of(entry, entry.files[0]), window=window, **how)
    provider.engine.start()
    try:
        assert provider.engine.ready.wait(120), errors
        yield provider
    finally:
        provider.close()
