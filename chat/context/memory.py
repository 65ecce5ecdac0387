"""The memory of one turn: the memory block in the system turn, and the note before the user's message.

The same facts always give the same bytes: a memory block that differs would make the model evaluate the whole
prompt again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from django.utils import timezone

from chat.llm.registry import registry
from chat.llm.types import Provider
from chat.memory import rank
from chat.memory.app_memories import PROMPT_SECTION_START
from chat.memory.formatting import apply_corrections, to_one_line
from chat.memory.memory_requests import RequestKind
from chat.memory.query_intent import analyse_message
from chat.models import Conversation, MemoryMode, Message, Role

from . import answer_rules, turn_note
from .app_memory_section import contains_app_memory, list_app_memories, render_fitting_app_memories
from .assembly import join_notes
from .budget import (
    APP_MEMORIES_CROWDED,
    MEMORY_IDEAL,
    MEMORY_MAX,
    NOTE_TOKENS,
    build_line_counter,
    note_budget,
)
from .fact_snapshot import FactSnapshot, RelevantFacts, list_pending_deletion_lines, rank_live_facts
from .reading_speed import measure_reading_speed
from .request_note import list_request_kinds


@dataclass(slots=True)
class TurnMemory:
    """The owner's facts for one message, and the lines that a pending deletion forbids.

    `count_line` counts a short line and may answer from a cache, `note_tokens` is the budget for the facts of
    an ordinary note. The budget for facts depends on the rest of
    the prompt and is measured only where it is needed, because that counts the whole prompt: some methods
    take a function that returns it in tokens.
    """

    conversation: Conversation
    message: Message
    relevant: RelevantFacts
    pending_deletion: set[str]
    requests: Sequence[RequestKind]
    count_tokens: Callable[[str], int]
    count_line: Callable[[str], int]
    note_tokens: int = NOTE_TOKENS
    now: datetime = field(default_factory=timezone.now)

    @classmethod
    def load(cls, conversation: Conversation, message: Message, provider: Provider) -> TurnMemory:
        """Read the facts and embed the message; call it outside any transaction."""
        if conversation.memory_mode == MemoryMode.OFF:
            relevant, pending = RelevantFacts([], analyse_message(""), {}), set()
        else:
            relevant = rank_live_facts(conversation.owner, message.content, registry.embedder())
            pending = list_pending_deletion_lines(conversation.owner)
        return cls(
            conversation,
            message,
            relevant,
            pending,
            list_request_kinds(message.content),
            provider.count_text,
            build_line_counter(provider),
            note_budget(measure_reading_speed(conversation.owner)),
        )

    def current_block(self, measure_budget: Callable[[], int]) -> tuple[str, dict[str, int]]:
        """Return the block's text and the versions of its facts by id.

        The conversation's last block is kept unchanged until it contains a line that is being deleted: a new
        one would make the model evaluate the whole prompt again.
        """
        if self.conversation.memory_mode == MemoryMode.OFF:
            return "", {}
        old = self.conversation.memory_block
        if old is None or self.contains_pending_deletion(old):
            return self.build_block(measure_budget())
        return old, self.conversation.memory_block_facts

    def contains_pending_deletion(self, text: str) -> bool:
        """Return whether a block contains a line that is being deleted."""
        return bool(self.pending_deletion) and (
            not self.pending_deletion.isdisjoint(apply_corrections([text]))
            or contains_app_memory(text, self.pending_deletion)
        )

    def build_block(self, budget: int, *, crowded: bool = False) -> tuple[str, dict[str, int]]:
        """Return a block of the current facts within `budget` tokens, and their versions by id.

        The block of a `crowded` prompt has no identity facts, the more confident half of the preferences, and
        five app memories. Pinned facts stay.
        """
        rules = answer_rules.choose_answer_rules(self.relevant.facts, self.count_line)
        chosen = choose_block_facts(
            [f for f in self.relevant.facts if f not in rules],
            self.relevant.relevance,
            budget - self.count_tokens(answer_rules.render_rules(rules, "")),
            self.count_tokens,
            self.count_line,
            self.now,
        )
        if crowded:
            chosen = rank.select_essential(chosen)
        text = self._append_app_memories(render_block(chosen), APP_MEMORIES_CROWDED if crowded else None)
        return text, {str(f.id): f.version for f in chosen}

    def _append_app_memories(self, text: str, most: int | None = None) -> str:
        """Return the text with the app's memories of other conversations below it."""
        if self.conversation.memory_mode == MemoryMode.OFF:
            return text
        memories = list_app_memories(self.conversation)
        app = render_fitting_app_memories(str(self.conversation.app), memories, self.count_line, most)
        return "\n\n".join(part for part in (text, app) if part)

    def list_omitted_facts(self, block_facts: Mapping[str, int], noted: Collection[str]) -> list[str]:
        """Return the ids of facts that belong in every prompt and did not fit this one, in any order."""
        if self.conversation.memory_mode == MemoryMode.OFF:
            return []
        included = {*block_facts, *noted}
        lines = {to_one_line(f.text) for f in self.relevant.facts if str(f.id) in included}
        return [
            str(f.id)
            for f in self.relevant.facts
            if rank.is_always_included(f) and to_one_line(f.text) not in lines
        ]

    def _choose_rules(self, block: str, *, crowded: bool) -> list[FactSnapshot]:
        """Return the facts that the reply must obey, for a prompt with this memory block.

        The block may be older than some rules, so these may have twice the tokens that a new block leaves
        to them, except in a `crowded` prompt.
        """
        stated = set(apply_corrections([read_block_facts(block)]))
        facts = [f for f in self.relevant.facts if to_one_line(f.text) not in stated]
        room = MEMORY_MAX - NOTE_TOKENS - self.count_tokens(read_block_facts(block))
        most = answer_rules.RULE_TOKENS * (1 if crowded else 2)
        rules = answer_rules.choose_answer_rules(facts, self.count_line, min(room, most))
        if self.relevant.ask.about_user or self.requests:
            return rules
        relevance = self.relevant.relevance
        return rules + answer_rules.choose_constraints(
            self.relevant.facts, relevance, self.count_line, NOTE_TOKENS
        )

    def _render_rules(self, rules: Sequence[FactSnapshot], kept: Sequence[Message]) -> str:
        said = [m.content for m in reversed(kept) if m.role == Role.USER]
        return answer_rules.render_rules(
            rules, answer_rules.detect_first_language([self.message.content, *said[:2]])
        )

    def build_note(
        self,
        block: str,
        kept: Sequence[Message],
        measure_budget: Callable[[], int],
        *,
        cut: Collection[int] = (),
        crowded: bool = False,
    ) -> tuple[str, list[str]]:
        """Return this turn's note and the ids of its facts.

        The rules for the answer stand in each note, other facts once in a prompt. `kept` are the earlier
        messages in the prompt, `cut` the `seq` of messages whose middle is left out: what users said there
        may be missing. The note of a `crowded` prompt has no identity facts that are not pinned.
        `measure_budget` is called only when users ask about themselves.
        """
        if self.conversation.memory_mode == MemoryMode.OFF:
            return "", []
        facts = self.relevant.facts
        lines = apply_corrections([block, *(m.note for m in kept)])
        sources = {m.pk for m in (self.message, *kept) if m.seq not in cut}
        corrections = turn_note.find_corrections(self.conversation, facts, lines, sources, self.now)
        corrected = [c.fact for c in corrections if c.fact]
        rules = self._choose_rules(block, crowded=crowded)
        stated = turn_note.find_stated_facts(facts, lines, sources) | {f.id for f in [*corrected, *rules]}
        own_lines = [c.line for c in corrections]
        chosen = turn_note.choose_note_facts(
            self.relevant,
            stated,
            own_lines,
            self._measure_note_budget(block, kept, measure_budget, rules, crowded=crowded),
            self.count_tokens,
            self.count_line,
            self.now,
            crowded=crowded,
        )
        note = turn_note.render_note(chosen, self.relevant.relevance, own_lines)
        return join_notes(note, self._render_rules(rules, kept)), [
            str(f.id) for f in dict.fromkeys([*corrected, *chosen, *rules])
        ]

    def _measure_note_budget(
        self,
        block: str,
        kept: Sequence[Message],
        measure_budget: Callable[[], int],
        rules: Sequence[FactSnapshot],
        *,
        crowded: bool,
    ) -> int:
        """Return the tokens for the facts of this turn's note that are no rules.

        These are `note_tokens` without the constraints, in a `crowded` prompt NOTE_TOKENS. When users ask
        about themselves the note takes what the block, the rules and the earlier notes leave of the budget
        for facts, if that is more.
        """
        if not self.relevant.ask.about_user:
            constraints = [f for f in rules if f.kind not in rank.ANSWER_KINDS]
            left = MEMORY_MAX - self.count_tokens(read_block_facts(block))
            most = NOTE_TOKENS if crowded else max(NOTE_TOKENS, min(self.note_tokens, left))
            return max(0, most - self.count_tokens(self._render_rules(constraints, kept)))
        told = [read_block_facts(block), self._render_rules(rules, kept)]
        told += [turn_note.read_note_facts(m.note) for m in kept]
        return max(NOTE_TOKENS, measure_budget() - sum(map(self.count_tokens, told)))


F = TypeVar("F", bound=rank.Rankable)
HEADER = "## What you know about this user"
SECTIONS = {"project": "Current work:", "preference": "Preferences:", "identity": "About user:"}


def render_block(facts: Iterable[rank.Rankable]) -> str:
    """Return the text of the facts, "" without any; the same facts give the same bytes."""
    ordered = rank.sort_for_rendering(facts)
    if not ordered:
        return ""
    parts = [HEADER]
    for category, title in SECTIONS.items():
        if lines := [f"- {to_one_line(f.text)}" for f in ordered if f.category == category]:
            parts.append("\n".join([title, *lines]))
    return "\n\n".join(parts)


def read_block_facts(block: str) -> str:
    """Return the part of a memory block that states facts, "" without one; app memories follow it."""
    return block.split(f"\n\n{PROMPT_SECTION_START}", 1)[0] if block.startswith(HEADER) else ""


def choose_block_facts(
    facts: Sequence[F],
    relevance: Mapping[UUID, float],
    budget: int,
    count_tokens: Callable[[str], int],
    count_line: Callable[[str], int],
    now: datetime,
) -> list[F]:
    """Return the facts that go into the block: at most `budget` tokens less the reserve for the turn note.

    Beyond MEMORY_IDEAL only pinned facts. `count_line` counts a short line and may answer from a cache.
    """
    budget -= NOTE_TOKENS
    ideal = min(MEMORY_IDEAL, budget)

    def budget_for(fact: F) -> int:
        return budget if fact.pinned else ideal

    # The header and the section titles count too.
    frame = count_line("\n\n".join([HEADER, *SECTIONS.values()]))
    return rank.select_fitting(
        rank.drop_repeated_texts(rank.rank_for_block(facts, relevance, now)),
        budget_for,
        lambda fact: count_line(f"- {to_one_line(fact.text)}\n"),
        lambda chosen: count_tokens(render_block(chosen)) if chosen else frame,
        budget,
    )
