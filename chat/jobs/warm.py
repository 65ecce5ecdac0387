"""Reads the prompts that everybody begins with, and what memory compares with, so that nobody waits."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import Any

from django.db import close_old_connections

from chat.actions import energy
from chat.actions.accounts import accounted
from chat.context import preparation, prepared, title
from chat.context.known import prototypes
from chat.context.prompt import DEFAULT_PERSONA
from chat.llm.llama import LlamaProvider
from chat.llm.registry import registry
from chat.llm.types import ModelNotReady, Provider, ProviderError, Turn, Unfinished
from chat.memory import app_memories, judge, judge_prompt, prompt, reader
from chat.models import Conversation

from .thrift import wait_for_energy

logger = logging.getLogger(__name__)

_PATIENCE_SECONDS = 600.0


def warm_prompts() -> None:
    """Begin to warm in a thread of its own; the background lane gives way to whatever the user wants."""
    threading.Thread(target=warm, name="warm-prompts", daemon=True).start()


def warm() -> None:
    """Read the fixed beginnings once the model is there; part of starting, so it takes no energy."""
    _warm_embedder()
    if not registry.wait_ready(_PATIENCE_SECONDS):
        return
    provider = registry.provider()
    if not isinstance(provider, LlamaProvider):
        return
    try:
        # They are read once, as part of starting, and for no one owner: on a slow machine they alone would
        # leave no energy for the first looks.
        provider.warm([Turn("system", DEFAULT_PERSONA), Turn("user", "")], slot="persona", starting=True)
        for slot, turns in background_prompts().items():
            provider.warm(turns, slot=slot, background=True, starting=True)
    except ProviderError:
        # Whoever needs the prompt reads it then.
        return
    finally:
        energy.settle()
        close_old_connections()


def rewarm(payload: dict[str, Any]) -> None:
    """Read a conversation's prompt anew after words in it were forgotten, unless it has ended meanwhile."""
    open_ones = Conversation.objects.kept().select_related("owner", "app").filter(ended_at__isnull=True)
    conversation = open_ones.filter(pk=payload["conversation"]).first()
    if conversation is None:
        return
    wait_for_energy()
    provider = registry.provider()
    turns = preparation.as_it_stands(conversation, provider)
    if turns is not None:
        read_in_advance(provider, conversation, turns)


def read_in_advance(provider: Provider, conversation: Conversation, turns: list[Turn]) -> None:
    """Let the model read what a conversation's next prompt will begin with, in a slot beside its own.

    Bit by bit, so that between two messages a look has its turn. Raises ModelNotReady and Unfinished; what
    else the provider says against it is logged, for it only means that somebody will wait.
    """
    slot = prepared.slot_of(conversation.pk)
    try:
        with accounted(provider, conversation.owner_id) as asked:
            for end in range(1, len(turns)):
                if turns[end].role == "user":
                    asked.warm([*turns[:end], Turn("user", "")], slot=slot)
    except (ModelNotReady, Unfinished):
        raise
    except ProviderError:
        logger.warning("the next prompt was not read in advance")


def _warm_embedder() -> None:
    embedder = registry.embedder()
    if embedder is not None:
        with suppress(OSError):
            prototypes(embedder)


def background_prompts() -> dict[str, list[Turn]]:
    """Return the fixed beginnings of the background prompts by slot: all that may outlive what was read."""
    return {
        reader.SLOT: list(prompt.turns("", "")),
        judge.SLOT: judge_prompt.prefix(),
        title.SLOT: title.prefix(),
        app_memories.SLOT: app_memories.prefix(),
    }
