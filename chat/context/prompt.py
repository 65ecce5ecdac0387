"""One turn's prompt: persona, memory block, history, turn note, the user's message (design §6).

Reads models and counts tokens; writes nothing. What must be kept (block, note, trimming) is in the result
and is saved through `actions.prompts`. Calls the tokenizer, so run it in a worker thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from chat.llm.types import Provider, Turn
from chat.memory.lines import without_lines
from chat.models import Conversation, MemoryMode, Message

from .assembly import Assembly
from .budget import memory_budget, must_compact, reserve
from .memory import Memory

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
    memory = Memory.of(conversation, message, provider, memory_budget(window, provider.count_text(persona)))
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
