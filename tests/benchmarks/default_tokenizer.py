"""The default model's tokenizer and the embedder, for benchmarks in which no model writes."""

from __future__ import annotations

import sys

from django.core.management import call_command

from chat.llm import weights
from chat.llm.embedder import Embedder, load_embedder
from chat.llm.llama import LlamaProvider
from chat.llm.registry import registry
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


def prepare_benchmark() -> tuple[Embedder, LlamaProvider]:
    """Migrate the database, register embedder and tokenizer, and return both; exit without an embedder."""
    embedder = load_embedder(weights.embedder())
    if embedder is None:
        sys.exit("The embedder is not installed.")
    provider = load_tokenizer()
    registry.use(provider, embedder=embedder)
    call_command("migrate", verbosity=0)
    return embedder, provider
