"""One turn's prompt: persona, memory block, history, turn note, the user's message (design §6).

Reads models and counts tokens; writes nothing. What must be kept (block, note, trimming) is in the result
and is saved through `actions.prompts`. Calls the tokenizer, so run it in a worker thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from chat.llm.types import Provider, Turn
from chat.memory.lines import one_line, without_lines
from chat.models import Conversation, DeletionState, Fact, MemoryMode, Message, Role

from . import block, note
from .budget import KEEP_FIRST, memory_budget, must_compact, reserve, target
from .trim import cut_middle, newest_that_fit

# What a template puts around a message, on the safe side; the whole prompt is counted exactly in the end.
_TEMPLATE_TOKENS = 8
_SHORTEST = 200
_ALL = 2**31

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
    """Return the prompt that answers `message`; never longer than the window minus the reply's reserve."""
    window = provider.context_window
    history = _history(conversation, message)
    facts = _known(conversation)
    persona = conversation.system_prompt or conversation.app.persona or DEFAULT_PERSONA
    budget = memory_budget(window, provider.count_text(persona))
    count = provider.count_text
    text, block_facts = _block(conversation, facts, budget, count)
    assembly = _Assembly(provider, _system(persona, text), history, "", message.content)
    noted = note.choose(
        facts, message.content, _said(facts, block_facts, assembly, conversation, message), budget, count
    )
    assembly.note = own = note.render(noted)
    turns = assembly.turns(trimmed := conversation.trimmed_through)
    if must_compact(provider.count_tokens(turns), window):
        # All is read again now, so the block may change too: it takes up what the trimmed messages said.
        text, block_facts = _fresh_block(conversation, facts, budget, count)
        assembly.system = _system(persona, text)
        turns, trimmed = assembly.fit(trimmed)
    tokens = provider.count_tokens(turns)
    return Prompt(
        turns=turns,
        block=text,
        block_facts=block_facts,
        note=own,
        note_facts=[str(f.id) for f in noted],
        trimmed_through=trimmed,
        cut_messages=len(history) + 2 - len(turns),
        tokens=tokens,
        max_tokens=max(16, min(reserve(window), window - tokens)),
        sections=_sections(provider, persona, text, own, message.content, tokens),
    )


def _system(persona: str, memory: str) -> Turn:
    return Turn("system", f"{persona}\n\n{memory}" if memory else persona)


def _history(conversation: Conversation, message: Message) -> list[Message]:
    """Return the earlier messages, their notes without what is forgotten; these rows are not to be saved."""
    leaving = Fact.objects.for_owner(conversation.owner).filter(deletion__state=DeletionState.PENDING)
    gone = {one_line(text) for text in leaving.wordings()}
    earlier = Message.objects.filter(conversation=conversation).shown().filter(seq__lt=message.seq)
    # A failed reply without text says nothing; a stopped one is what the user saw, so it stays.
    history = [m for m in earlier if m.content]
    for m in history:
        if conversation.memory_mode == MemoryMode.OFF:
            m.note = ""
        elif gone:
            m.note = without_lines(m.note, gone)
    return history


def _known(conversation: Conversation) -> list[Fact]:
    if conversation.memory_mode == MemoryMode.OFF:
        return []
    return list(Fact.objects.for_owner(conversation.owner).live())


def _block(
    conversation: Conversation, facts: Sequence[Fact], budget: int, count: Callable[[str], int]
) -> tuple[str, dict[str, int]]:
    """Return the block, word for word the old one while every fact in it stands unchanged."""
    versions = {str(f.id): f.version for f in facts}
    old: dict[str, int] = conversation.memory_block_facts
    kept = conversation.memory_mode != MemoryMode.OFF and conversation.memory_block is not None
    if kept and all(versions.get(k) == v for k, v in old.items()):
        return conversation.memory_block or "", old
    return _fresh_block(conversation, facts, budget, count)


def _fresh_block(
    conversation: Conversation, facts: Sequence[Fact], budget: int, count: Callable[[str], int]
) -> tuple[str, dict[str, int]]:
    chosen = block.choose(facts, budget, count)
    return block.render(chosen), {str(f.id): f.version for f in chosen}


def _said(
    facts: Sequence[Fact],
    block_facts: Collection[str],
    assembly: _Assembly,
    conversation: Conversation,
    message: Message,
) -> set[str]:
    """Return which facts the prompt says already: block, earlier notes and the user's own words."""
    kept = assembly.kept(conversation.trimmed_through)
    lines = {line.removeprefix("- ") for m in kept for line in m.note.split("\n")}
    sources = {message.pk, *(m.pk for m in kept)}
    return {
        str(f.id)
        for f in facts
        if str(f.id) in block_facts or one_line(f.text) in lines or f.source_message_id in sources
    }


@dataclass(slots=True)
class _Assembly:
    """The pieces of one prompt, put together so that they fit."""

    provider: Provider
    system: Turn
    history: list[Message]
    note: str
    text: str

    def fit(self, trimmed: int) -> tuple[list[Turn], int]:
        """Return the turns trimmed to half the window, and the place through which history is left out."""
        window = self.provider.context_window
        text = self._shortened(window)
        fixed = self.provider.count_tokens(self.turns(_ALL, text))
        rest = self.history[self._head() :]
        sizes = [self.provider.count_text(m.note + m.content) + _TEMPLATE_TOKENS for m in rest]
        start = newest_that_fit(sizes, target(window) - fixed)
        # An answer without its question misleads, and some templates refuse it.
        while start < len(rest) and rest[start].role == Role.ASSISTANT:
            start += 1
        trimmed = max(trimmed, rest[start - 1].seq if start else 0)
        return self.turns(trimmed, text), trimmed

    def kept(self, trimmed: int) -> list[Message]:
        """Return the messages that still go to the model."""
        head = self._head()
        return [m for i, m in enumerate(self.history) if i < head or m.seq > trimmed]

    def turns(self, trimmed: int, text: str | None = None) -> list[Turn]:
        """Return the whole prompt; `text` stands in for the user's message."""
        own = Turn("user", noted(self.note, self.text if text is None else text))
        return [self.system, *map(_as_turn, self.kept(trimmed)), own]

    def _head(self) -> int:
        """Return how many first messages are always kept: the first exchange, unless it is huge."""
        first = self.history[:KEEP_FIRST]
        size = sum(self.provider.count_text(m.content) for m in first)
        return len(first) if size <= self.provider.context_window // 8 else 0

    def _shortened(self, window: int) -> str:
        """Return the message, its middle cut out where it alone would overflow the window."""
        room = window - reserve(window) - self.provider.count_tokens(self.turns(_ALL, ""))
        text = self.text
        while (size := self.provider.count_text(text)) > room and len(text) > _SHORTEST:
            text = cut_middle(self.text, max(_SHORTEST, int(len(text) * min(0.95, room / size))))
        return text


def noted(note_text: str, text: str) -> str:
    """Return a user message as the model sees it, with its note before it."""
    return f"{note_text}\n\n{text}" if note_text else text


def _as_turn(message: Message) -> Turn:
    if message.role == Role.ASSISTANT:
        return Turn("assistant", message.content)
    return Turn("user", noted(message.note, message.content))


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
