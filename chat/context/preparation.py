"""Works the next compaction of a conversation out before anybody needs it (design §6)."""

from __future__ import annotations

from chat.llm.types import Provider, Turn
from chat.models import Conversation, Message, Role

from .compaction import compact
from .prepared import Prepared
from .prompt import assemble, frame, memory_for


def prepare(conversation: Conversation, provider: Provider) -> tuple[Prepared, list[Turn]] | None:
    """Return the next compaction of a conversation, and the turns that its next prompt will begin with.

    Worked out as if the user were about to write; None where there is nothing to leave out. Counts tokens and
    embeds, so call it from a worker thread, outside any transaction.
    """
    coming = _coming(conversation)
    if coming is None:
        return None
    memory = memory_for(conversation, coming, provider)
    assembly = assemble(conversation, coming, provider, memory)
    block, stage = compact(assembly, memory, frame(conversation, coming, provider))
    if not assembly.shape.trimmed_through:
        return None
    ready = Prepared(conversation.manner, assembly.shape, block, stage)
    return ready, assembly.turns()


def as_it_stands(conversation: Conversation, provider: Provider) -> list[Turn] | None:
    """Return the turns that the next prompt will begin with, where nothing is compacted; None before any."""
    coming = _coming(conversation)
    if coming is None:
        return None
    memory = memory_for(conversation, coming, provider)
    assembly = assemble(conversation, coming, provider, memory)
    assembly.block, _ = memory.block()
    return assembly.turns()


def _coming(conversation: Conversation) -> Message | None:
    """Return the message that the user has yet to write, in the topic of the last one."""
    last = Message.objects.filter(conversation=conversation).shown().last()
    if last is None:
        return None
    return Message(conversation=conversation, seq=last.seq + 1, role=Role.USER, topic_id=last.topic_id)
