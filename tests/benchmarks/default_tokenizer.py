"""The default model's tokenizer, with which the benchmarks count tokens."""

from __future__ import annotations

from chat.llm import weights
from chat.llm.llama import LlamaProvider
from chat.llm.weights.entries import DEFAULT


def load_tokenizer() -> LlamaProvider:
    """Load the default model; the benchmarks use only its tokenizer and template. Raises RuntimeError."""
    entry = weights.entry_named(DEFAULT)
    path = weights.require(entry)
    provider = LlamaProvider(entry.name, path, window=8192, threads=1, on_error=print)
    provider.engine.start()
    if not provider.engine.ready.wait(120):
        raise RuntimeError("the model did not load")
    return provider
