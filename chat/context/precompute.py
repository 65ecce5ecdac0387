"""Computes what the next prompt of a conversation will begin with, before the user writes.

Reads the database and asks the embedder: call it from a worker thread, outside any transaction.
"""

from __future__ import annotations

from functools import partial

from chat.llm.types import Provider, Turn
from chat.models import Conversation, Message, Role

from .compaction import PrecomputedCompaction, compact
from .memory import TurnMemory
from .prompt import assemble_prompt, build_compaction_start, measure_memory_budget


def precompute_compaction(
    conversation: Conversation, provider: Provider
) -> tuple[PrecomputedCompaction, list[Turn]] | None:
    """Return the next compaction of a conversation, and the turns that its next prompt will begin with.

    Computed as if the user were about to write; None where no message would be left out. Raises
    ProviderError.
    """
    upcoming = _build_upcoming(conversation)
    if upcoming is None:
        return None
    memory = TurnMemory.load(conversation, upcoming, provider)
    assembly = assemble_prompt(conversation, upcoming, provider, memory)
    block, _, stage = compact(assembly, memory, build_compaction_start(conversation, upcoming, provider))
    if not assembly.shape.trimmed_through:
        return None
    ready = PrecomputedCompaction(conversation.effective_strategy, assembly.shape, block, stage)
    return ready, assembly.turns()


def build_next_turns(conversation: Conversation, provider: Provider) -> list[Turn] | None:
    """Return the turns that the next prompt will begin with, without a compaction; None without messages."""
    upcoming = _build_upcoming(conversation)
    if upcoming is None:
        return None
    memory = TurnMemory.load(conversation, upcoming, provider)
    assembly = assemble_prompt(conversation, upcoming, provider, memory)
    assembly.block, _ = memory.current_block(partial(measure_memory_budget, assembly))
    return assembly.turns()


def _build_upcoming(conversation: Conversation) -> Message | None:
    """Return an unsaved stand-in for the user's next message, in the topic of the last one.

    None without any.
    """
    last = Message.objects.filter(conversation=conversation).current_branch().last()
    if last is None:
        return None
    return Message(conversation=conversation, seq=last.seq + 1, role=Role.USER, topic_id=last.topic_id)
