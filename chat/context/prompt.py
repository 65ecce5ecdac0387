"""One turn's prompt: persona, memory block, history, turn note, the user's message (design §6).

Reads models and counts tokens; writes nothing. What must be kept (block, note, trimming) is in the result
and is saved through `actions.prompts`. Calls the tokenizer, so run it in a worker thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from chat.llm.embedder import Embedder
from chat.llm.registry import registry
from chat.llm.types import Provider, Turn
from chat.memory.asking import Ask
from chat.memory.lines import one_line, said_by, without_lines
from chat.models import Conversation, DeletionState, Fact, MemoryMode, Message

from . import block, note, said
from .assembly import Assembly
from .budget import memory_budget, must_compact, reserve
from .known import Known, live, relevances

DEFAULT_PERSONA = (
    "You are a helpful assistant in a private chat that runs on the user's own computer. "
    "Answer what is asked, correctly and plainly, and say so when you do not know. "
    "Notes about the user come from earlier conversations with them; use them when they help. "
    "In these notes, “User” is the person who is writing to you: speak to them as “you”."
)


@dataclass(slots=True)
class Prompt:
    """What goes to the model for one reply, and what was decided on the way."""

    turns: list[Turn]
    block: str
    block_facts: dict[str, int]
    note: str
    note_facts: list[str]
    trimmed_through: int
    cut_messages: int
    tokens: int
    max_tokens: int
    sections: dict[str, int] = field(default_factory=dict)

    @property
    def facts(self) -> list[str]:
        """Return the ids of all facts that the model was given, in order."""
        return list(dict.fromkeys([*self.block_facts, *self.note_facts]))


def build(conversation: Conversation, message: Message, provider: Provider) -> Prompt:
    """Return the prompt that answers `message`; never longer than the window minus the reply's reserve.

    Embeds the message where there is an embedder, so call it outside any transaction.
    """
    window = provider.context_window
    persona = conversation.system_prompt or conversation.app.persona or DEFAULT_PERSONA
    memory = _Memory.of(conversation, message, provider, memory_budget(window, provider.count_text(persona)))
    history = _history(conversation, message, memory.gone)
    text, block_facts = memory.block()
    assembly = Assembly(provider, _system(persona, text), history, "", message.content)
    trimmed = conversation.trimmed_through
    assembly.note, noted = memory.note(text, assembly.kept(trimmed))
    turns = assembly.turns(trimmed)
    tokens = provider.count_tokens(turns)
    if must_compact(tokens, window):
        # All is read again now, so the block may change too: it takes up what the trimmed messages said.
        text, block_facts = memory.fresh_block()
        assembly.system = _system(persona, text)
        turns, trimmed = assembly.fit(trimmed)
        assembly.note, noted = memory.note(text, assembly.kept(trimmed))
        turns, trimmed = assembly.fit(trimmed)
        tokens = provider.count_tokens(turns)
    return Prompt(
        turns=turns,
        block=text,
        block_facts=block_facts,
        note=assembly.note,
        note_facts=noted,
        trimmed_through=trimmed,
        cut_messages=len(history) + 2 - len(turns),
        tokens=tokens,
        max_tokens=max(16, min(reserve(window), window - tokens)),
        sections=_sections(provider, persona, text, assembly.note, message.content, tokens),
    )


def _system(persona: str, memory: str) -> Turn:
    return Turn("system", f"{persona}\n\n{memory}" if memory else persona)


def _history(conversation: Conversation, message: Message, gone: set[str]) -> list[Message]:
    """Return the earlier messages, their notes without what is forgotten; these rows are not to be saved."""
    earlier = Message.objects.filter(conversation=conversation).shown().filter(seq__lt=message.seq)
    # A failed reply without text says nothing; a stopped one is what the user saw, so it stays.
    history = [m for m in earlier if m.content]
    for m in history:
        if conversation.memory_mode == MemoryMode.OFF:
            m.note = ""
        elif gone:
            m.note = without_lines(m.note, gone)
    return history


@dataclass(slots=True)
class _Memory:
    """What is known, and what of it this turn is told."""

    conversation: Conversation
    message: Message
    facts: Sequence[Known]
    ask: Ask
    relevance: Mapping[UUID, float]
    gone: set[str]
    budget: int
    count: Callable[[str], int]
    now: datetime

    @classmethod
    def of(cls, conversation: Conversation, message: Message, provider: Provider, budget: int) -> _Memory:
        owner = conversation.owner
        off = conversation.memory_mode == MemoryMode.OFF
        facts = [] if off else live(owner)
        embedder: Embedder | None = registry.embedder()
        ask, relevance = relevances(owner, facts, message.content, embedder)
        leaving = Fact.objects.for_owner(owner).filter(deletion__state=DeletionState.PENDING)
        gone = {one_line(text) for text in leaving.wordings()}
        return cls(
            conversation, message, facts, ask, relevance, gone, budget, provider.count_text, timezone.now()
        )

    def block(self) -> tuple[str, dict[str, int]]:
        """Return the block, word for word the old one until one of its facts is being forgotten."""
        old = self.conversation.memory_block
        if old is None or self.conversation.memory_mode == MemoryMode.OFF:
            return self.fresh_block()
        if self.gone and not self.gone.isdisjoint(said_by([old])):
            return self.fresh_block()
        return old, self.conversation.memory_block_facts

    def fresh_block(self) -> tuple[str, dict[str, int]]:
        """Return a block of what is known now, with its facts and their versions."""
        chosen = block.choose(self.facts, self.relevance, self.budget, self.count, self.now)
        return block.render(chosen), {str(f.id): f.version for f in chosen}

    def note(self, block_text: str, kept: Sequence[Message]) -> tuple[str, list[str]]:
        """Return this turn's note and its facts, given what the rest of the prompt says."""
        if self.conversation.memory_mode == MemoryMode.OFF:
            return "", []
        lines = said_by([block_text, *(m.note for m in kept)])
        sources = {self.message.pk, *(m.pk for m in kept)}
        corrections = said.corrections(self.conversation, self.facts, lines, sources)
        corrected = [c.fact for c in corrections if c.fact]
        already = said.said_already(self.facts, lines, sources) | {f.id for f in corrected}
        chosen = note.choose(
            self.facts,
            self.ask,
            self.relevance,
            already,
            [c.line for c in corrections],
            self.budget,
            self.count,
            self.now,
        )
        text = note.render(chosen, [c.line for c in corrections])
        return text, [str(f.id) for f in dict.fromkeys([*corrected, *chosen])]


def _sections(
    provider: Provider, persona: str, memory: str, own_note: str, text: str, total: int
) -> dict[str, int]:
    count = provider.count_text
    parts = {
        "persona": count(persona),
        "memory": count(memory),
        "note": count(own_note),
        "message": count(text),
    }
    # What is left are earlier messages and the template around them all.
    return {**parts, "history": max(0, total - sum(parts.values()))}
