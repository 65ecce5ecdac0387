"""Builds the prompt of one turn, in this order: persona, memory block, summary, history, turn note, message.

`assembly.Assembly.turns` puts the parts in this order. It is stable, and the parts change as rarely as
possible, so that the model's cached prefix stays valid. Reads the database and counts tokens; writes nothing:
`actions.prompts` saves the block, the note and the shape that the result holds. Blocks on the tokenizer and
the embedder: call it from a worker thread, outside any transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from django.db.models import Q

from chat.llm.types import Provider, Turn
from chat.memory.formatting import remove_lines
from chat.models import Conversation, MemoryMode, Message, Role, Topic
from chat.models.message import MessageQuerySet
from chat.past_chats.quotations import QuotedSentence
from chat.topics.contents import load_contents

from . import compaction, past_chats, recall
from .assembly import Assembly, PromptShape, importance_of, join_notes
from .budget import (
    cut_to_tokens,
    max_persona_tokens,
    max_prompt_tokens,
    max_summary_tokens,
    memory_budget,
    must_compact,
    reply_reserve,
)
from .compaction import CompactionStart, MemoryBlock, compact, rebuild_note
from .importance import IMPORTANT
from .memory import TurnMemory
from .request_note import describe_requests
from .stored_quotations import render_history_quotations
from .strategies import HYBRID, TOPICS, group_tool_calls, uses_summary
from .turn_note import describe_date, keep_impersonal
from .unknown_answer import describe_unknown

DEFAULT_PERSONA = (
    "You are a helpful assistant in a private chat that runs on the user's own computer. "
    "Answer what is asked, correctly and plainly, and say so when you do not know. "
    "Notes about the user come from earlier conversations with them; use them when they help. "
    "In these notes, “User” is the person who is writing to you: speak to them as “you”."
)


@dataclass(slots=True)
class Prompt:
    """The input of the model for one reply, and the decisions made on the way.

    Facts are given by id, as text.
    """

    turns: list[Turn]
    block: MemoryBlock
    note: str
    note_facts: list[str]
    shape: PromptShape
    cut_messages: int
    tokens: int
    max_tokens: int
    # The stage that this prompt's compaction reached, 1 to 3; 0 without a compaction.
    stage: int = 0
    # The user's own message was cut because it did not fit.
    shortened: bool = False
    # The sentences of earlier conversations that stand behind the note of the user's message.
    quotations: list[QuotedSentence] = field(default_factory=list)
    # Facts that belong in every prompt and did not fit the block.
    left_out: list[str] = field(default_factory=list)
    sections: Mapping[str, int] = field(default_factory=dict)

    @property
    def facts(self) -> list[str]:
        """Return the ids of all facts in the prompt, in order."""
        return list(dict.fromkeys([*self.block.facts, *self.note_facts]))


def build_prompt(conversation: Conversation, message: Message, provider: Provider) -> Prompt:
    """Return the prompt that answers `message`; never longer than the window less the reply's reserve.

    Embeds the message where there is an embedder. Raises ProviderError.
    """
    memory = TurnMemory.load(conversation, message, provider)
    assembly = assemble_prompt(conversation, message, provider, memory)
    block = MemoryBlock(*memory.current_block(partial(measure_memory_budget, assembly)))
    assembly.block = block.text
    noted = rebuild_note(assembly, memory, partial(measure_memory_budget, assembly))
    stage = 0
    quoted: list[QuotedSentence] = []
    if must_compact(assembly.tokens(), provider.context_window):
        block, noted, stage = _shorten(conversation, assembly, memory)
    # Without memory the note says nothing about the user, so no quotation is added to it.
    if remembers := conversation.memory_mode != MemoryMode.OFF:
        assembly.note = _add_recall(conversation, message, assembly)
        quoted = past_chats.add_quotations(conversation, message, assembly)
    sentences = [
        describe_date(message, memory.relevant, noted, block.facts, assembly.kept_messages()),
        describe_requests(memory.requests, message.content, conversation.memory_mode),
    ]
    if remembers and not (quoted or memory.requests or assembly.history):
        sentences.append(describe_unknown(message, memory.relevant, assembly.note))
    for sentence in sentences:
        assembly.note = _add_to_note(assembly, sentence)
    return _prompt(assembly, memory, block, noted, stage, quoted)


def measure_memory_budget(assembly: Assembly) -> int:
    """Return the budget for facts in tokens, a quarter of what the other parts leave of the window."""
    return memory_budget(assembly.provider.context_window, assembly.tokens_without_memory())


def _shorten(
    conversation: Conversation, assembly: Assembly, memory: TurnMemory
) -> tuple[MemoryBlock, list[str], int]:
    """Apply the precomputed compaction, or compact now where there is none or its prompt is still too long.

    Returns the memory block, the ids of the facts in the note, and the stage.
    """
    provider = assembly.provider
    if ready := compaction.adopt_precomputed(conversation, assembly, memory):
        block, stage = ready
        noted = rebuild_note(assembly, memory, partial(measure_memory_budget, assembly), stage)
        if not must_compact(assembly.tokens(), provider.context_window):
            return block, noted, stage
    return compact(assembly, memory, build_compaction_start(conversation, assembly.message, provider))


def _add_recall(conversation: Conversation, message: Message, assembly: Assembly) -> str:
    """Return the note, followed by quotations about a topic that comes back, as far as they fit."""
    earlier = recall.list_earlier_quotes(conversation, message, assembly.shape)
    if not earlier:
        return assembly.note
    window = assembly.provider.context_window
    room = min(max_prompt_tokens(window) - assembly.tokens(), recall.recall_tokens(window))
    quoted = recall.quote_sentences(message.content, earlier, room, assembly.provider.count_text)
    return join_notes(assembly.note, quoted)


def _add_to_note(assembly: Assembly, sentences: str) -> str:
    """Return the note, followed by these sentences if they fit."""
    if not sentences:
        return assembly.note
    room = max_prompt_tokens(assembly.provider.context_window) - assembly.tokens()
    if assembly.provider.count_text(sentences) > room:
        return assembly.note
    return join_notes(assembly.note, sentences)


def assemble_prompt(
    conversation: Conversation, message: Message, provider: Provider, memory: TurnMemory
) -> Assembly:
    """Return the prompt's parts in the shape of the last prompt, still without memory block and note."""
    shape = PromptShape.from_conversation(conversation)
    history = list_history(conversation, message, shape, memory.pending_deletion)
    return Assembly(
        provider,
        _persona(conversation, provider),
        "",
        history,
        "",
        message,
        shape,
        render_history_quotations(conversation, history),
    )


def build_compaction_start(
    conversation: Conversation, message: Message, provider: Provider
) -> CompactionStart:
    """Return the input for a compaction of this conversation."""
    strategy = conversation.effective_strategy
    if strategy == TOPICS:
        room = max_summary_tokens(provider.context_window)
        others = describe_other_topics(conversation, message.topic_id, room, provider.count_text)
        return CompactionStart(strategy, others, message.topic_id)
    return CompactionStart(strategy, conversation.summary if uses_summary(strategy) else "", message.topic_id)


def describe_other_topics(
    conversation: Conversation, topic_id: object, room: int, count: Callable[[str], int]
) -> str:
    """Return a line for each current topic but this one, the last active first, within `room` tokens."""
    lines = []
    for topic in Topic.objects.filter(conversation=conversation).current().begun_after_clear(conversation):
        if topic.pk == topic_id:
            continue
        line = f"- {topic.title}: {topic.summary}" if topic.summary else f"- {topic.title}"
        room -= count(line)
        if room < 0:
            break
        lines.append(line)
    return "\n".join(lines)


def persona_of(conversation: Conversation) -> str:
    """Return the persona of the assistant in this conversation: its own, its app's or the default."""
    return conversation.system_prompt or conversation.app.persona or DEFAULT_PERSONA


def _persona(conversation: Conversation, provider: Provider) -> str:
    """Return the persona cut to its budget: a program may send one that is longer than any window."""
    return cut_to_tokens(
        max_persona_tokens(provider.context_window), persona_of(conversation), provider.count_text
    )


def list_history(
    conversation: Conversation, message: Message, shape: PromptShape, pending_deletion: set[str]
) -> list[Message]:
    """Return the earlier messages that a prompt may contain; lines that are being deleted are removed from
    notes.

    These are the messages of the last prompt, those flagged since, with the strategy `topics` those of the
    message's topic, and with `hybrid` all system messages; each tool call with its results. Do not save these
    rows: their notes are changed.
    """
    wanted = Q(seq__gt=shape.trimmed_through) | Q(seq__in=shape.kept) | Q(flagged=True)
    strategy = conversation.effective_strategy
    if strategy == TOPICS and message.topic_id is not None:
        wanted |= Q(topic=message.topic_id)
    if strategy == HYBRID:
        wanted |= Q(role=Role.SYSTEM)
    earlier = Message.objects.filter(conversation=conversation).visible_before(message)
    rows = list(earlier.filter(wanted))
    # Failed replies without text are skipped, stopped ones kept: the user saw them.
    history = [m for m in load_contents(_complete_tool_calls(rows, earlier, shape)) if not m.is_empty]
    for m in history:
        if conversation.memory_mode == MemoryMode.OFF:
            m.note = keep_impersonal(m.note)
        elif pending_deletion:
            m.note = remove_lines(m.note, pending_deletion)
    return history


def _complete_tool_calls(rows: list[Message], earlier: MessageQuerySet, shape: PromptShape) -> list[Message]:
    """Return messages that a prompt may contain, with the rest of each tool call of which they have a part.

    All were sent together with what they answer, except those that the last prompt left out.
    """
    returning = {m.seq for m in rows if not shape.includes(m.seq) and (m.tool_calls or m.role == Role.TOOL)}
    if not returning:
        return rows
    of_tools = list(earlier.filter(Q(role=Role.TOOL) | Q(tool_calls__isnull=False)))
    groups = [group for group in group_tool_calls(of_tools) if returning & {m.seq for m in group}]
    by_seq = {m.seq: m for group in groups for m in group} | {m.seq: m for m in rows}
    return [by_seq[seq] for seq in sorted(by_seq)]


def _prompt(
    assembly: Assembly,
    memory: TurnMemory,
    block: MemoryBlock,
    noted: list[str],
    stage: int,
    quoted: list[QuotedSentence],
) -> Prompt:
    provider, message = assembly.provider, assembly.message
    window = provider.context_window
    turns = assembly.turns()
    tokens = provider.count_tokens(turns)
    whole = Message.objects.filter(conversation=message.conversation_id).visible_before(message).not_empty()
    return Prompt(
        turns=turns,
        block=block,
        note=assembly.note,
        note_facts=noted,
        shape=assembly.shape,
        cut_messages=max(0, whole.count() + 2 - len(turns)),
        tokens=tokens,
        max_tokens=max(16, min(reply_reserve(window), window - tokens)),
        stage=stage,
        shortened=message.seq in assembly.shape.cuts,
        quotations=quoted,
        left_out=memory.list_omitted_facts(block.facts, noted),
        sections=_sections(assembly, tokens),
    )


def _sections(assembly: Assembly, total: int) -> dict[str, int]:
    count = assembly.provider.count_text
    texts = {"persona": assembly.persona, "memory": assembly.block, "summary": assembly.shape.summary}
    parts = {
        **{name: count(text) for name, text in texts.items()},
        "note": count(assembly.note),
        "past_chats": count(assembly.quotations.get(assembly.message.seq, "")),
        "message": assembly.own_tokens(),
    }
    # What is left of the total are earlier messages and the tokens of the chat template.
    rest = max(0, total - sum(parts.values()))
    if not (kept := assembly.kept_messages()):
        return {**parts, "persona": parts["persona"] + rest, "history": 0}
    # Messages that a compaction kept because they are important.
    important = [m for m in kept if m.seq in assembly.shape.kept and importance_of(m) >= IMPORTANT]
    tokens = min(rest, sum(map(assembly.message_tokens, important)))
    return {**parts, "important": tokens, "history": rest - tokens}
