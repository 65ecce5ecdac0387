"""The pieces of one prompt put together, and counted with the model's own tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chat.llm.types import Provider, Turn
from chat.models import Conversation, Message, Role

from .strategies import Exchange
from .trim import cut_middle

SUMMARY_HEADER = "## Earlier in this conversation"
# What a template puts around a message, on the safe side; the whole prompt is counted exactly in the end.
_TEMPLATE_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a conversation stands in its prompts, the same until the next compaction."""

    trimmed_through: int = 0
    kept: tuple[int, ...] = ()
    # Of these messages, by `seq`, so many characters; their middle is left out.
    cuts: Mapping[int, int] = field(default_factory=dict)
    summary: str = ""

    @classmethod
    def of(cls, conversation: Conversation) -> Shape:
        """Return the shape that the conversation's last prompt had."""
        cuts = {int(seq): keep for seq, keep in conversation.cuts.items()}
        return cls(conversation.trimmed_through, tuple(conversation.kept), cuts, conversation.prompt_summary)

    def holds(self, seq: int) -> bool:
        """Return whether a message still goes to the model."""
        return seq > self.trimmed_through or seq in self.kept


@dataclass(slots=True)
class Assembly:
    """Persona, memory block, history, turn note and the user's message."""

    provider: Provider
    persona: str
    block: str
    history: Sequence[Message]
    note: str
    message: Message
    shape: Shape

    def kept(self) -> list[Message]:
        """Return the earlier messages that still go to the model."""
        return [m for m in self.history if self.shape.holds(m.seq)]

    def turns(self) -> list[Turn]:
        """Return the whole prompt."""
        return [self._system(), *map(self._turn, self.kept()), self._own()]

    def tokens(self) -> int:
        """Return the whole prompt's length in tokens."""
        return self.provider.count_tokens(self.turns())

    def fixed_tokens(self) -> int:
        """Return what the prompt takes without any earlier message."""
        return self.provider.count_tokens([self._system(), self._own()])

    def exchanges(self) -> list[Exchange]:
        """Return the earlier messages in exchanges, each with what it takes."""
        found: list[list[Message]] = []
        for m in self.history:
            if m.role == Role.USER or not found:
                found.append([])
            found[-1].append(m)
        return [_exchange(messages, map(self.size, messages)) for messages in found]

    def size(self, message: Message) -> int:
        """Return what one message takes in the prompt, on the safe side."""
        return self.provider.count_text(self._turn(message).content) + _TEMPLATE_TOKENS

    def own_size(self) -> int:
        """Return what the user's message takes without its note, on the safe side."""
        return self.provider.count_text(self._shown(self.message)) + _TEMPLATE_TOKENS

    def _system(self) -> Turn:
        summary = f"{SUMMARY_HEADER}\n\n{self.shape.summary}" if self.shape.summary else ""
        return Turn("system", "\n\n".join(part for part in (self.persona, self.block, summary) if part))

    def _own(self) -> Turn:
        return Turn("user", noted(self.note, self._shown(self.message)))

    def _turn(self, message: Message) -> Turn:
        content = self._shown(message)
        if message.role == Role.ASSISTANT:
            return Turn("assistant", content)
        return Turn("user", noted(message.note, content))

    def _shown(self, message: Message) -> str:
        keep = self.shape.cuts.get(message.seq)
        return message.content if keep is None else cut_middle(message.content, keep)


def noted(note_text: str, text: str) -> str:
    """Return a user message as the model sees it, with its note before it."""
    return f"{note_text}\n\n{text}" if note_text else text


def _exchange(messages: Sequence[Message], sizes: Iterable[int]) -> Exchange:
    topic: Any = messages[0].topic_id
    flagged = any(m.flagged for m in messages)
    return Exchange(tuple(m.seq for m in messages), sum(sizes), flagged, topic)
