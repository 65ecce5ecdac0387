"""What an app remembers, as its conversations' prompts say it (seed 003, "Memory Context Format")."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from chat.memory.app_memories import SAID_TO_APP
from chat.memory.lines import one_line
from chat.models import AppMemory, Conversation

from .budget import APP_MEMORY_TOKENS

_HEAD = SAID_TO_APP + "{})\nThe following are memories from previous conversations with this app:"
_FOOT = "Use these memories to provide context-aware responses."


def remembered(conversation: Conversation) -> list[AppMemory]:
    """Return what its app remembers of other conversations, the newest first; one query."""
    of_app = AppMemory.objects.filter(app=conversation.app_id).live()
    return list(of_app.exclude(source_conversation=conversation))


def render(name: str, memories: Sequence[AppMemory]) -> str:
    """Return the seed's text, empty when there is nothing to say; the same memories give the same bytes."""
    if not memories:
        return ""
    lines = "\n".join(f"{n}. {_line(memory)}" for n, memory in enumerate(memories, 1))
    return "\n\n".join([_HEAD.format(one_line(name)), lines, _FOOT])


def fitting(
    name: str, memories: Sequence[AppMemory], price: Callable[[str], int], most: int | None = None
) -> str:
    """Return as many of the newest memories as their budget allows, rendered; `most` of them at most."""
    left = APP_MEMORY_TOKENS - price(f"{_HEAD.format(one_line(name))}\n\n{_FOOT}")
    chosen: list[AppMemory] = []
    for memory in memories[:most]:
        left -= price(f"10. {_line(memory)}\n")
        if left < 0:
            break
        chosen.append(memory)
    return render(name, chosen)


def says(text: str, gone: Collection[str]) -> bool:
    """Return whether a block tells one of these app memories."""
    return any(f"] {line}" in text for line in gone)


def _line(memory: AppMemory) -> str:
    return f"[Created: {memory.created_at:%Y-%m-%d}] {one_line(memory.content)}"
