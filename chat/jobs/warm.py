"""Reads the prompts that everybody begins with, and what memory compares with, so that nobody waits."""

from __future__ import annotations

import threading
from contextlib import suppress

from chat.context.known import prototypes
from chat.context.prompt import DEFAULT_PERSONA
from chat.llm.llama import LlamaProvider
from chat.llm.registry import registry
from chat.llm.types import ProviderError, Turn
from chat.memory import judge, judge_prompt, prompt, reader

_PATIENCE_SECONDS = 600.0


def warm_prompts() -> None:
    """Begin to warm in a thread of its own; the background lane gives way to whatever the user wants."""
    threading.Thread(target=_warm, name="warm-prompts", daemon=True).start()


def _warm() -> None:
    _warm_embedder()
    if not registry.wait_ready(_PATIENCE_SECONDS):
        return
    provider = registry.provider()
    if not isinstance(provider, LlamaProvider):
        return
    try:
        provider.warm([Turn("system", DEFAULT_PERSONA), Turn("user", "")], slot="persona")
        for slot, turns in background_prompts().items():
            provider.warm(turns, slot=slot, background=True)
    except ProviderError:
        # Whoever needs the prompt reads it then.
        return


def _warm_embedder() -> None:
    embedder = registry.embedder()
    if embedder is not None:
        with suppress(OSError):
            prototypes(embedder)


def background_prompts() -> dict[str, list[Turn]]:
    """Return the fixed beginnings of the background prompts by slot: all that may outlive what was read."""
    return {reader.SLOT: list(prompt.turns("", "")), judge.SLOT: judge_prompt.prefix()}
