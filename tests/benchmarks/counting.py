"""The default model as a tokenizer: what the benchmarks count with."""

from __future__ import annotations

from chat.llm import weights
from chat.llm.llama import LlamaProvider
from chat.llm.weights.entries import DEFAULT


def tokenizer() -> LlamaProvider:
    """Return the default model, of which only tokenizer and template are used."""
    entry = weights.entry_named(DEFAULT)
    path = weights.require(entry)
    provider = LlamaProvider(entry.name, path, window=8192, threads=1, on_error=print)
    provider.engine.start()
    if not provider.engine.ready.wait(120):
        raise RuntimeError("the model did not load")
    return provider
