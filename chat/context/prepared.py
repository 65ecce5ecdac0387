"""The next compaction, worked out and read in advance so that nobody waits for it (design §6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chat.llm.slots import AHEAD
from chat.models import Conversation

from .assembly import Assembly, Shape
from .compaction import Block
from .memory import Memory


@dataclass(frozen=True, slots=True)
class Prepared:
    """A shape and a block for the prompts from now on, and the strategy that they were made for."""

    strategy: str
    shape: Shape
    block: Block
    stage: int

    def as_json(self) -> dict[str, Any]:
        """Return it as it is kept with the conversation."""
        return {
            "strategy": self.strategy,
            "trimmed_through": self.shape.trimmed_through,
            "kept": list(self.shape.kept),
            "cuts": {str(seq): keep for seq, keep in self.shape.cuts.items()},
            "summary": self.shape.summary,
            "block": self.block.text,
            "block_facts": self.block.facts,
            "stage": self.stage,
        }

    @classmethod
    def of(cls, conversation: Conversation) -> Prepared | None:
        """Return what was prepared for a conversation, None when nothing is."""
        kept = conversation.prepared
        if not kept:
            return None
        cuts = {int(seq): keep for seq, keep in kept["cuts"].items()}
        shape = Shape(kept["trimmed_through"], tuple(kept["kept"]), cuts, kept["summary"])
        return cls(kept["strategy"], shape, Block(kept["block"], kept["block_facts"]), kept["stage"])


def adopt(conversation: Conversation, assembly: Assembly, memory: Memory) -> tuple[Block, int] | None:
    """Give the assembly the prepared shape, where there is one that still holds; its note is the caller's."""
    ready = Prepared.of(conversation)
    if ready is None or ready.strategy != conversation.manner:
        return None
    if memory.says_gone(ready.block.text):
        return None
    assembly.shape, assembly.block = ready.shape, ready.block.text
    return ready.block, ready.stage


def slot_of(conversation_id: object) -> str:
    """Return the name of the slot in which a conversation's next prompt is read in advance."""
    return f"{conversation_id}{AHEAD}"
