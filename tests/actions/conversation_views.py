"""Helpers that read a conversation's current branch and its next prompt."""

from __future__ import annotations

from chat.context.prompt import build_prompt
from chat.llm.scripted import ScriptedProvider
from chat.models import Conversation, Message

# Fields of a conversation whose prompt was compacted once and whose next compaction is precomputed.
COMPACTED_FIELDS = {
    "trimmed_through": 4,
    "kept": [1, 2],
    "cuts": {"3": 90},
    "summary": "They spoke of dogs.",
    "summarised_through": 4,
    "prompt_summary": "They spoke of dogs.",
    "prepared": {"strategy": "hybrid"},
}


def shown_texts(conversation: Conversation) -> list[str]:
    """Return the texts of the messages on the conversation's current branch."""
    return [m.content for m in Message.objects.filter(conversation=conversation).current_branch()]


def find_message(conversation: Conversation, text: str) -> Message:
    """Return the message of a conversation with exactly this text."""
    return Message.objects.get(conversation=conversation, content=text)


def prompt_of(conversation: Conversation, asked: Message, scripted: ScriptedProvider) -> str:
    """Return the text of the prompt that answers a message."""
    fresh = Conversation.objects.get(pk=conversation.pk)
    return "\n".join(turn.content for turn in build_prompt(fresh, asked, scripted).turns)


def add_user_message(conversation: Conversation, text: str) -> Message:
    """Create a user message with sequence number 5."""
    return Message.objects.create(conversation=conversation, seq=5, role="user", content=text)
