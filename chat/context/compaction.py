"""Compaction: shortens a prompt that has outgrown its budget to about half the window, in three stages.

Stage 1 leaves old messages out, stage 2 also shrinks the memory block, stage 3 also cuts the middle out of
the last messages, the oldest first. The result holds until the next compaction, so that the model evaluates
it once. A compaction can be computed in advance by a background job and is stored with the conversation until
it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chat.llm.types import NEXT_PROMPT_SUFFIX
from chat.models import Conversation, Message, Role

from .assembly import Assembly, PromptShape
from .budget import (
    CUT_MARK,
    compaction_target,
    max_head_tokens,
    max_prompt_tokens,
    memory_budget,
    min_history_tokens,
)
from .memory import TurnMemory
from .strategies import HYBRID, choose_exchanges, find_oversized_first, group_tool_calls

# In characters. A message is not cut below this: the mark would be longer than the remaining text.
_MIN_CHARACTERS = len(CUT_MARK) + 120


@dataclass(frozen=True, slots=True)
class CompactionStart:
    """The input of a compaction: strategy, summary so far, and the id of the topic of the new message."""

    strategy: str
    summary: str = ""
    topic: object = None


@dataclass(frozen=True, slots=True)
class MemoryBlock:
    """A memory block: its text, and the versions of its facts by id."""

    text: str
    facts: dict[str, int]


def compact(
    assembly: Assembly, memory: TurnMemory, start: CompactionStart
) -> tuple[MemoryBlock, list[str], int]:
    """Change the assembly's shape so that it fits, and build its memory block and its note again.

    Returns the block, the ids of the facts in the note, and the stage reached (1–3). The budget for facts is
    a quarter of what the shortened prompt leaves of the window.
    """
    window = assembly.provider.context_window
    # A huge message must not push all earlier ones out of the prompt.
    _shorten_own(assembly, max_prompt_tokens(window) - min_history_tokens(window))
    least = assembly.fixed_tokens() + min_history_tokens(window)
    aim = max(compaction_target(window), min(max_prompt_tokens(window), least))
    budget = memory_budget(window, min(aim, assembly.tokens_without_memory()))
    for stage in (1, 2):
        block = MemoryBlock(*memory.build_block(budget, crowded=stage == 2))
        assembly.block = block.text
        _trim(assembly, start, aim, window)
        noted = rebuild_note(assembly, memory, lambda: budget, stage)
        if assembly.tokens() <= aim:
            return block, noted, stage
    _shorten_last(assembly, aim)
    _leave_out_oldest(assembly, aim, start.strategy)
    return block, noted, 3


def rebuild_note(
    assembly: Assembly, memory: TurnMemory, measure_budget: Callable[[], int], stage: int = 0
) -> list[str]:
    """Build the assembly's note for its present block and messages; returns the ids of the note's facts.

    `stage` is that of the compaction that shortened the prompt, 0 without one. `measure_budget` returns the
    tokens for facts; see `TurnMemory.build_note`.
    """
    assembly.note, noted = memory.build_note(
        assembly.block,
        assembly.kept_messages(),
        measure_budget,
        cut=assembly.shape.cuts,
        crowded=stage >= 2,
    )
    return noted


def _trim(assembly: Assembly, start: CompactionStart, aim: int, window: int) -> None:
    # Keep earlier cuts: the model would have to evaluate a restored message again.
    before = assembly.shape
    # The quotations from past conversations are left out first.
    unquoted = max((m.seq for m in assembly.history), default=0)
    assembly.shape = PromptShape(summary=start.summary, cuts=before.cuts, unquoted_through=unquoted)
    room = aim - assembly.fixed_tokens()
    exchanges = assembly.exchanges()
    if first := find_oversized_first(start.strategy, exchanges, room, window):
        messages = [m for m in assembly.history if m.seq in first.seqs]
        _shorten_messages(assembly, messages, max_head_tokens(window))
        exchanges = assembly.exchanges()
    choice = choose_exchanges(start.strategy, exchanges, room, window, start.topic)
    stays = {m.seq for m in assembly.history if choice.includes(m.seq)}
    # Messages that an earlier compaction left out stay out, even when they would fit now.
    trimmed = max(before.trimmed_through, choice.trimmed_through)
    assembly.shape = replace(
        assembly.shape,
        trimmed_through=trimmed,
        kept=tuple(sorted(seq for seq in stays if seq <= trimmed)),
        summary=start.summary if trimmed else "",
    )


def _shorten_messages(assembly: Assembly, messages: Sequence[Message], room: int) -> None:
    """Cut the middle out of the longest of these messages until all have at most `room` tokens together."""
    by_length = sorted(messages, key=assembly.message_tokens)
    for done, message in enumerate(by_length):
        share = room // (len(by_length) - done)
        while (size := assembly.message_tokens(message)) > share:
            shown = assembly.shape.cuts.get(message.seq, len(message.content))
            if shown <= _MIN_CHARACTERS:
                break
            keep = int(shown * min(0.95, share / size))
            _cut(assembly, message.seq, shown, max(_MIN_CHARACTERS, keep))
        room -= size


def _shorten_last(assembly: Assembly, aim: int) -> None:
    """Cut the middle out of the remaining messages, the oldest first, until the prompt has `aim` tokens."""
    for message in assembly.kept_messages():
        over = assembly.tokens() - aim
        if over <= 0:
            return
        shown = assembly.shape.cuts.get(message.seq, len(message.content))
        size = assembly.message_tokens(message)
        # Estimated from this message's own characters per token; 10 % more, so that one cut is enough.
        keep = int(shown * max(0.0, 1 - 1.1 * over / max(size, 1)))
        _cut(assembly, message.seq, shown, max(_MIN_CHARACTERS, keep))


def _leave_out_oldest(assembly: Assembly, aim: int, strategy: str) -> None:
    """Leave the oldest messages out until the prompt has `aim` tokens: a small window cannot hold six.

    A tool call and its results are left out together, and with the strategy `hybrid` system messages last.
    """
    lasting: list[Message] = []
    others: list[Message] = []
    for message in assembly.kept_messages():
        is_lasting = strategy == HYBRID and message.role == Role.SYSTEM
        (lasting if is_lasting else others).append(message)
    for group in [*group_tool_calls(others), *([message] for message in lasting)]:
        if assembly.tokens() <= aim:
            return
        left_out = {m.seq for m in group}
        trimmed = max(assembly.shape.trimmed_through, *left_out)
        remaining = (m.seq for m in assembly.kept_messages() if m.seq <= trimmed)
        assembly.shape = replace(
            assembly.shape,
            trimmed_through=trimmed,
            kept=tuple(seq for seq in remaining if seq not in left_out),
        )


def _shorten_own(assembly: Assembly, room: int) -> None:
    """Cut the middle out of the user's message until the prompt without its history fits in `room` tokens."""
    message = assembly.message
    while (tokens := assembly.fixed_tokens()) > room:
        shown = assembly.shape.cuts.get(message.seq, len(message.content))
        if shown <= _MIN_CHARACTERS:
            return
        own = max(1, assembly.provider.count_text(message.content[:shown]))
        _cut(
            assembly,
            message.seq,
            shown,
            max(_MIN_CHARACTERS, int(shown * min(0.95, (own - tokens + room) / own))),
        )


def _cut(assembly: Assembly, seq: int, shown: int, keep: int) -> None:
    if keep < shown:
        assembly.shape = replace(assembly.shape, cuts={**assembly.shape.cuts, seq: keep})


@dataclass(frozen=True, slots=True)
class PrecomputedCompaction:
    """A compaction computed in advance; valid while the conversation has the same strategy."""

    strategy: str
    shape: PromptShape
    block: MemoryBlock
    stage: int

    def as_json(self) -> dict[str, Any]:
        """Return the value of the conversation's column `prepared`."""
        return {
            "strategy": self.strategy,
            "trimmed_through": self.shape.trimmed_through,
            "kept": list(self.shape.kept),
            "cuts": {str(seq): keep for seq, keep in self.shape.cuts.items()},
            "summary": self.shape.summary,
            "unquoted_through": self.shape.unquoted_through,
            "block": self.block.text,
            "block_facts": self.block.facts,
            "stage": self.stage,
        }

    @classmethod
    def from_conversation(cls, conversation: Conversation) -> PrecomputedCompaction | None:
        """Return the conversation's precomputed compaction, None without one."""
        stored = conversation.prepared
        if not stored:
            return None
        cuts = {int(seq): keep for seq, keep in stored["cuts"].items()}
        shape = PromptShape(
            stored["trimmed_through"],
            tuple(stored["kept"]),
            cuts,
            stored["summary"],
            stored.get("unquoted_through", 0),
        )
        block = MemoryBlock(stored["block"], stored["block_facts"])
        return cls(stored["strategy"], shape, block, stored["stage"])


def adopt_precomputed(
    conversation: Conversation, assembly: Assembly, memory: TurnMemory
) -> tuple[MemoryBlock, int] | None:
    """Apply the conversation's precomputed compaction to the assembly; None where there is no valid one.

    Returns the memory block and the stage. The caller builds the note again with `rebuild_note`.
    """
    ready = PrecomputedCompaction.from_conversation(conversation)
    if ready is None or ready.strategy != conversation.effective_strategy:
        return None
    if memory.contains_pending_deletion(ready.block.text):
        return None
    assembly.shape, assembly.block = ready.shape, ready.block.text
    return ready.block, ready.stage


def next_prompt_slot(conversation_id: object) -> str:
    """Return the name of the slot in which a conversation's next prompt is evaluated in advance."""
    return f"{conversation_id}{NEXT_PROMPT_SUFFIX}"
