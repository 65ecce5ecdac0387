"""One turn's prompt: persona, memory block, summary, history, turn note, the user's message (design §6).

Reads models and counts tokens; writes nothing. What must be kept (block, note, shape) is in the result and is
saved through `actions.prompts`. Calls the tokenizer, so run it in a worker thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import Q

from chat.llm.types import Provider, Turn
from chat.memory.lines import without_lines
from chat.models import Conversation, MemoryMode, Message, Topic
from chat.topics.contents import with_contents

from . import prepared, recollection
from .assembly import Assembly, Shape
from .budget import limit, memory_budget, must_compact, persona_room, reserve, summary_room
from .compaction import Block, Frame, compact
from .memory import Memory
from .strategies import TOPICS, summarises
from .trim import cut_to

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
    block: Block
    note: str
    note_facts: list[str]
    shape: Shape
    cut_messages: int
    tokens: int
    max_tokens: int
    # How far compaction went for this very prompt: 0 not at all, 1 to 3 by its stages.
    stage: int = 0
    # The user's own message did not fit as it is.
    shortened: bool = False
    # Facts for every turn that found no room in the block.
    left_out: list[str] = field(default_factory=list)
    sections: Mapping[str, int] = field(default_factory=dict)

    @property
    def facts(self) -> list[str]:
        """Return the ids of all facts that the model was given, in order."""
        return list(dict.fromkeys([*self.block.facts, *self.note_facts]))


def build(conversation: Conversation, message: Message, provider: Provider) -> Prompt:
    """Return the prompt that answers `message`; never longer than the window minus the reply's reserve.

    Embeds the message where there is an embedder, so call it outside any transaction.
    """
    memory = memory_for(conversation, message, provider)
    assembly = assemble(conversation, message, provider, memory)
    block = Block(*memory.block())
    assembly.block = block.text
    assembly.note, noted = memory.note(block.text, assembly.kept())
    stage = 0
    if must_compact(assembly.tokens(), provider.context_window):
        ready = prepared.adopt(conversation, assembly, memory)
        if ready is None or must_compact(assembly.tokens(), provider.context_window):
            ready = compact(assembly, memory, frame(conversation, message, provider))
        block, stage = ready
        assembly.note, noted = memory.note(block.text, assembly.kept())
    # Without memory earlier notes are left out, this one with them.
    if conversation.memory_mode != MemoryMode.OFF:
        assembly.note = _recalling(conversation, message, assembly)
    return _prompt(assembly, memory, block, noted, stage)


def _recalling(conversation: Conversation, message: Message, assembly: Assembly) -> str:
    """Return the note with what was said of a topic that comes back, as far as the window has room for it."""
    said = recollection.said_before(conversation, message, assembly.shape)
    if not said:
        return assembly.note
    window = assembly.provider.context_window
    room = min(limit(window) - assembly.tokens(), recollection.room_for(window))
    quoted = recollection.quoted(message.content, said, room, assembly.provider.count_text)
    return "\n\n".join(part for part in (assembly.note, quoted) if part)


def memory_for(conversation: Conversation, message: Message, provider: Provider) -> Memory:
    """Return what is known as it matters to a message; embeds it."""
    used = provider.count_text(_persona(conversation, provider))
    room = memory_budget(provider.context_window, used)
    return Memory.of(conversation, message, provider, room)


def assemble(conversation: Conversation, message: Message, provider: Provider, memory: Memory) -> Assembly:
    """Return the prompt's pieces in the shape that the last prompt had, as yet without block and note."""
    shape = Shape.of(conversation)
    history = history_of(conversation, message, shape, memory.gone)
    return Assembly(provider, _persona(conversation, provider), "", history, "", message, shape)


def frame(conversation: Conversation, message: Message, provider: Provider) -> Frame:
    """Return what a compaction of this conversation starts from."""
    strategy = conversation.manner
    if strategy == TOPICS:
        return Frame(strategy, _other_topics(conversation, message, provider), message.topic_id)
    return Frame(strategy, conversation.summary if summarises(strategy) else "", message.topic_id)


def _other_topics(conversation: Conversation, message: Message, provider: Provider) -> str:
    """Return a line on each topic but the one now talked about, the last active first, as many as fit."""
    left = summary_room(provider.context_window)
    lines = []
    for topic in Topic.objects.filter(conversation=conversation).current().seen_in(conversation):
        if topic.pk == message.topic_id:
            continue
        line = f"- {topic.title}: {topic.summary}" if topic.summary else f"- {topic.title}"
        left -= provider.count_text(line)
        if left < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def persona_of(conversation: Conversation) -> str:
    """Return what the assistant is told about itself in this conversation."""
    return conversation.system_prompt or conversation.app.persona or DEFAULT_PERSONA


def _persona(conversation: Conversation, provider: Provider) -> str:
    """Return the persona as it stands in prompts: a program may send one that is longer than any window."""
    return cut_to(persona_room(provider.context_window), persona_of(conversation), provider.count_text)


def history_of(conversation: Conversation, message: Message, shape: Shape, gone: set[str]) -> list[Message]:
    """Return the earlier messages that may stand in a prompt, their notes without what is forgotten.

    That is what stands there now, what was marked since and, where the strategy goes by topics, what was said
    of this one before; these rows are not to be saved.
    """
    wanted = Q(seq__gt=shape.trimmed_through) | Q(seq__in=shape.kept) | Q(flagged=True)
    if conversation.manner == TOPICS and message.topic_id is not None:
        wanted |= Q(topic=message.topic_id)
    earlier = Message.objects.filter(wanted, conversation=conversation).seen_before(message)
    # A failed reply without text says nothing; a stopped one is what the user saw, so it stays.
    history = [m for m in with_contents(earlier) if m.content]
    for m in history:
        if conversation.memory_mode == MemoryMode.OFF:
            m.note = ""
        elif gone:
            m.note = without_lines(m.note, gone)
    return history


def _prompt(assembly: Assembly, memory: Memory, block: Block, noted: list[str], stage: int) -> Prompt:
    provider, message = assembly.provider, assembly.message
    window = provider.context_window
    turns = assembly.turns()
    tokens = provider.count_tokens(turns)
    whole = Message.objects.filter(conversation=message.conversation_id).seen_before(message)
    return Prompt(
        turns=turns,
        block=block,
        note=assembly.note,
        note_facts=noted,
        shape=assembly.shape,
        cut_messages=max(
            0,
            whole.exclude(content="", archive__isnull=True).count() + 2 - len(turns),
        ),
        tokens=tokens,
        max_tokens=max(16, min(reserve(window), window - tokens)),
        stage=stage,
        shortened=message.seq in assembly.shape.cuts,
        left_out=memory.left_out(block.facts, noted),
        sections=_sections(assembly, tokens),
    )


def _sections(assembly: Assembly, total: int) -> dict[str, int]:
    count = assembly.provider.count_text
    parts = {
        "persona": count(assembly.persona),
        "memory": count(assembly.block),
        "summary": count(assembly.shape.summary),
        "note": count(assembly.note),
        "message": assembly.own_size(),
    }
    # What is left are earlier messages and the template around them all; without any it is the template's.
    rest = max(0, total - sum(parts.values()))
    if not assembly.kept():
        return {**parts, "persona": parts["persona"] + rest, "history": 0}
    return {**parts, "history": rest}
