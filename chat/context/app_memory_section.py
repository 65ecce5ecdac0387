"""The part of the memory block that lists an app's memories of other conversations."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence

from chat.memory.app_memories import PROMPT_SECTION_START
from chat.memory.formatting import to_one_line
from chat.models import AppMemory, Conversation

from .budget import APP_MEMORY_TOKENS

logger = logging.getLogger(__name__)

_HEAD = PROMPT_SECTION_START + "{})\nThe following are memories from previous conversations with this app:"
_FOOT = "Use these memories to provide context-aware responses."


def list_app_memories(conversation: Conversation) -> list[AppMemory]:
    """Return the app's memories of other conversations, the newest first; one query."""
    of_app = AppMemory.objects.filter(app=conversation.app_id).live()
    found = list(of_app.exclude(source_conversation=conversation))
    ids = {"app": str(conversation.app_id), "conversation": str(conversation.pk)}
    logger.info("app memories retrieved for a prompt", extra={**ids, "count": len(found)})
    return found


def render_app_memories(name: str, memories: Sequence[AppMemory]) -> str:
    """Return the text of these app memories, "" without any; the same memories give the same bytes."""
    if not memories:
        return ""
    lines = "\n".join(f"{n}. {_app_memory_line(memory)}" for n, memory in enumerate(memories, 1))
    return "\n\n".join([_HEAD.format(to_one_line(name)), lines, _FOOT])


def render_fitting_app_memories(
    name: str, memories: Sequence[AppMemory], count_line: Callable[[str], int], most: int | None = None
) -> str:
    """Render as many of the newest memories as fit APP_MEMORY_TOKENS, at most `most` of them."""
    left = APP_MEMORY_TOKENS - count_line(f"{_HEAD.format(to_one_line(name))}\n\n{_FOOT}")
    chosen: list[AppMemory] = []
    for memory in memories[:most]:
        left -= count_line(f"10. {_app_memory_line(memory)}\n")
        if left < 0:
            break
        chosen.append(memory)
    return render_app_memories(name, chosen)


def contains_app_memory(text: str, lines: Collection[str]) -> bool:
    """Return whether a memory block contains one of these app memories."""
    return any(f"] {line}" in text for line in lines)


def _app_memory_line(memory: AppMemory) -> str:
    return f"[Created: {memory.created_at:%Y-%m-%d}] {to_one_line(memory.content)}"
