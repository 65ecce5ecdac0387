"""What is shown of a conversation, and what its next prompt says."""

from __future__ import annotations

from chat.context.prompt import build
from chat.models import Conversation, Message

# A conversation whose prompt was compacted once, and whose next compaction is ready.
SHAPED = {
    "trimmed_through": 4,
    "kept": [1, 2],
    "cuts": {"3": 90},
    "summary": "They spoke of dogs.",
    "summarised_through": 4,
    "prompt_summary": "They spoke of dogs.",
    "prepared": {"strategy": "hybrid"},
}


def shown(conversation):
    return [m.content for m in Message.objects.filter(conversation=conversation).shown()]


def message(conversation, text):
    return Message.objects.get(conversation=conversation, content=text)


def prompt_of(conversation, asked, scripted):
    fresh = Conversation.objects.get(pk=conversation.pk)
    return "\n".join(turn.content for turn in build(fresh, asked, scripted).turns)


def chat_more(conversation, text):
    return Message.objects.create(conversation=conversation, seq=5, role="user", content=text)
