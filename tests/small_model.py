"""Loads the small real model and the embedder for tests; skips a test if its weights are missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chat.llm import weights
from chat.llm.embedder import Embedder, load_embedder
from chat.llm.llama import LlamaProvider
from chat.llm.machine_defaults import default_threads

SMALL_MODEL = "smollm2-135m"


def require_weights(name: str) -> weights.Entry:
    """Return a model of the catalogue; skip the calling test if its files are missing."""
    entry = weights.entry_named(name)
    if not weights.is_present(entry):
        pytest.skip(f"the weights of {name} are missing: `manage.py weights fetch {name}`")
    return entry


def require_small_model() -> Path:
    """Return the path of the small model's weights; skip the calling test if the file is missing."""
    entry = require_weights(SMALL_MODEL)
    return weights.path_of(entry, entry.files[0])


def use_small_model(environment: dict[str, str]) -> None:
    """Let processes with this environment load the small model; skip the calling test if it is missing."""
    require_small_model()
    environment["MODEL"] = SMALL_MODEL
    environment.pop("MODEL_DIR", None)
    if folder := os.environ.get("MODEL_DIR"):
        environment["MODEL_DIR"] = folder


def load_real_embedder(name: str = weights.DEFAULT_EMBEDDER) -> Embedder:
    """Return an embedder of the catalogue; skip the calling test if it is not installed."""
    embedder = load_embedder(require_weights(name))
    assert embedder is not None
    return embedder


@contextmanager
def load_small_model(window: int, **options: Any) -> Iterator[LlamaProvider]:
    """Load the small model into this process and close it at the end of the block.

    `window` is in tokens; `options` are further arguments of LlamaProvider. Skips the calling test if the
    file is missing.
    """
    path = require_small_model()
    errors: list[Exception] = []
    options = {"threads": default_threads(), "on_error": errors.append, **options}
    provider = LlamaProvider(SMALL_MODEL, path, window=window, **options)
    provider.engine.start()
    try:
        assert provider.engine.ready.wait(120), errors
        yield provider
    finally:
        provider.close()
