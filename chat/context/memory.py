"""What one turn is told of what is known: the block at the prompt's head and the note before the message."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone

from chat.llm.registry import registry
from chat.llm.types import Provider
from chat.memory import rank
from chat.memory.asking import read
from chat.memory.lines import said_by
from chat.models import Conversation, MemoryMode, Message

from . import block, note, rooms, said
from .budget import APP_MEMORIES_CROWDED
from .known import Relevant, leaving, live_for
from .prices import pricer


@dataclass(slots=True)
class Memory:
    """What is known, what of it matters to this message, and what is on its way out."""

    conversation: Conversation
    message: Message
    known: Relevant
    gone: set[str]
    budget: int
    count: Callable[[str], int]
    price: Callable[[str], int]
    now: datetime = field(default_factory=timezone.now)

    @classmethod
    def of(cls, conversation: Conversation, message: Message, provider: Provider, budget: int) -> Memory:
        """Read it; embeds the message where there is an embedder, so call it outside any transaction."""
        if conversation.memory_mode == MemoryMode.OFF:
            known, gone = Relevant([], read(""), {}), set()
        else:
            known = live_for(conversation.owner, message.content, registry.embedder())
            gone = leaving(conversation.owner)
        return cls(conversation, message, known, gone, budget, provider.count_text, pricer(provider))

    def block(self) -> tuple[str, dict[str, int]]:
        """Return the block and its facts' versions, word for word the old one until one is forgotten."""
        old = self.conversation.memory_block
        if old is None or self.conversation.memory_mode == MemoryMode.OFF:
            return self.fresh_block()
        if self.says_gone(old):
            return self.fresh_block()
        return old, self.conversation.memory_block_facts

    def says_gone(self, text: str) -> bool:
        """Return whether a block says something that is on its way out."""
        return bool(self.gone) and (not self.gone.isdisjoint(said_by([text])) or rooms.says(text, self.gone))

    def fresh_block(self) -> tuple[str, dict[str, int]]:
        """Return a block of what is known now, with its facts' versions."""
        chosen = block.choose(
            self.known.facts, self.known.relevance, self.budget, self.count, self.price, self.now
        )
        return self._with_rooms(block.render(chosen)), {str(f.id): f.version for f in chosen}

    def small_block(self) -> tuple[str, dict[str, int]]:
        """Return a crowded prompt's block: no identity, the surer half of preferences, five app memories."""
        chosen = rank.dearest(
            block.choose(
                self.known.facts, self.known.relevance, self.budget, self.count, self.price, self.now
            )
        )
        text = self._with_rooms(block.render(chosen), APP_MEMORIES_CROWDED)
        return text, {str(f.id): f.version for f in chosen}

    def _with_rooms(self, text: str, most: int | None = None) -> str:
        """Return the block with what the app remembers of other conversations below it."""
        if self.conversation.memory_mode == MemoryMode.OFF:
            return text
        told = rooms.remembered(self.conversation)
        app = rooms.fitting(str(self.conversation.app), told, self.price, most)
        return "\n\n".join(part for part in (text, app) if part)

    def left_out(self, block_facts: Mapping[str, int], noted: Collection[str]) -> list[str]:
        """Return the ids of facts that hold for every turn and found no room, in no order that matters."""
        if self.conversation.memory_mode == MemoryMode.OFF:
            return []
        said = {*block_facts, *noted}
        return [str(f.id) for f in self.known.facts if rank.holds_always(f) and str(f.id) not in said]

    def note(self, block_text: str, kept: Sequence[Message]) -> tuple[str, list[str]]:
        """Return this turn's note and its facts; `kept` are the messages before it in the prompt."""
        if self.conversation.memory_mode == MemoryMode.OFF:
            return "", []
        facts = self.known.facts
        lines = said_by([block_text, *(m.note for m in kept)])
        sources = {self.message.pk, *(m.pk for m in kept)}
        corrections = said.corrections(self.conversation, facts, lines, sources)
        corrected = [c.fact for c in corrections if c.fact]
        already = said.said_already(facts, lines, sources) | {f.id for f in corrected}
        own_lines = [c.line for c in corrections]
        chosen = note.choose(self.known, already, own_lines, self.budget, self.count, self.price, self.now)
        return note.render(chosen, own_lines), [str(f.id) for f in dict.fromkeys([*corrected, *chosen])]
