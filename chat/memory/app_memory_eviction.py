"""Chooses which memory of a full app is deleted, or merged with the new memory.

An app holds a limited number of memories. The model chooses among the changes that the words allow.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from chat.errors import UnusableOutput
from chat.llm.types import GenerationOptions, Lane, Provider, StopFlag, Turn
from chat.models import MAX_CONTENT, AppMemory
from chat.topics.match import compute_shared_ratio, extract_match_terms

from .summary_sentences import split_sentences

SLOT = "app_choice"
_NEW_TOKENS = 8
# From this share of common terms on, in both directions, the new memory replaces the old one.
_SAME_SHARE = 0.6
# From this share on, in one direction, two memories may be merged.
_RELATED_SHARE = 0.3
_ANSWER = re.compile(r"(delete|edit) (\d+)")
SYSTEM = (
    "A notebook is full. You are shown its notes, the oldest first, and a new one that is to be added. "
    "Either delete the one note that will help least in later chats, or edit one note that is about the same "
    "thing as the new note; it will say both. Small talk and what is done and over goes first; lasting "
    "wishes, people and plans stay."
)
_EXAMPLES = (
    (
        "1. The user wants reports as tables. They never want charts.\n"
        "2. The user looked for the opening hours of the town hall. It closes at four.\n"
        "3. The user builds a shed with Jens. The posts stand.\n"
        "New: The user will run a marathon in Oslo in May. They train on Sundays.",
        "delete 2",
    ),
    (
        "1. The user plans to paint the kitchen with their brother. They want it yellow.\n"
        "2. The user has an interview at a school on 4 May. They are afraid of the talk on pay.\n"
        "3. The user cooks without nuts. Their nephew cannot eat them.\n"
        "New: The user got the post at the school. They begin on 1 August.",
        "edit 2",
    ),
)


@dataclass(frozen=True, slots=True)
class AppMemoryChange:
    """The change of one memory: its deletion if `text` is empty, else its new text.

    `old_text` is the text when the change was chosen; apply the change only if the memory still has it.
    """

    target: Any
    old_text: str
    text: str = ""
    reason: str = ""


def choose_memory_to_replace(
    provider: Provider, memories: Sequence[AppMemory], new: str, *, stop: StopFlag | None = None
) -> AppMemoryChange:
    """Return the change that makes room for the memory `new` among `memories`.

    Without a model call if one memory is about the same. Else the model may delete any memory, or merge `new`
    into a related one; the merged text is built here from both texts, because the default model leaves parts
    out when it writes it. Memories that the user edited are changed only if all are. Blocks while the model
    answers: call it from a worker thread, outside any transaction. Raises ProviderError, and its subclass
    UnusableOutput if the answer is not possible.
    """
    unedited = sorted((m for m in memories if not m.edited), key=lambda m: m.updated_at)
    shares = {m.pk: _compute_shares(m.content, new) for m in unedited}
    most_similar = max(unedited, key=lambda m: min(shares[m.pk]), default=None)
    if most_similar is not None and min(shares[most_similar.pk]) >= _SAME_SHARE:
        return AppMemoryChange(most_similar.pk, most_similar.content, new, "about the same")
    listed = unedited or sorted(memories, key=lambda m: m.updated_at)
    related = [n for n, m in enumerate(listed, 1) if max(shares.get(m.pk, (0.0,))) >= _RELATED_SHARE]
    notes = "\n".join(f"{n}. {memory.content}" for n, memory in enumerate(listed, 1))
    completion = provider.complete(
        [*build_prefix(), Turn("user", f"{notes}\nNew: {new}")],
        GenerationOptions(
            slot=SLOT,
            lane=Lane.BACKGROUND,
            max_tokens=_NEW_TOKENS,
            grammar=_build_grammar(len(listed), related),
            stop=stop,
        ),
    )
    return parse_choice(completion.text, listed, related, new)


def build_prefix() -> list[Turn]:
    """Return the turns that are the same in all prompts of this module."""
    turns = [Turn("system", SYSTEM)]
    for notes, answer in _EXAMPLES:
        turns += [Turn("user", notes), Turn("assistant", answer)]
    return turns


def parse_choice(
    answer: str, listed: Sequence[AppMemory], related: Collection[int], new: str
) -> AppMemoryChange:
    """Return the change for an answer such as "delete 2"; raises UnusableOutput if it is not possible.

    `related` holds the numbers, from 1, of the listed memories that may be merged with `new`.
    """
    found = _ANSWER.fullmatch(answer.strip())
    number = int(found[2]) if found else 0
    if found is None or not 1 <= number <= len(listed):
        raise UnusableOutput("app-memory-choice-unreadable")
    memory = listed[number - 1]
    if found[1] == "delete":
        return AppMemoryChange(memory.pk, memory.content, reason="helps least")
    if number not in related:
        raise UnusableOutput("app-memory-choice-unrelated")
    return AppMemoryChange(memory.pk, memory.content, merge_memories(memory.content, new), "says both")


def merge_memories(old: str, new: str) -> str:
    """Return as many sentences of both as fit into MAX_CONTENT characters.

    In this order: the first sentence of `old`, the sentences of `new`, the other sentences of `old`. Where
    the first sentence of `new` does not fit, returns `new`.
    """
    first, *rest = split_sentences(old)
    kept, new_sentences = [first], split_sentences(new)
    for sentence in (*new_sentences, *rest):
        if sentence not in kept and len(" ".join([*kept, sentence])) <= MAX_CONTENT:
            kept.append(sentence)
    return " ".join(kept) if new_sentences[0] in kept else new


def _compute_shares(old: str, new: str) -> tuple[float, float]:
    """Return the share of the terms of `old` that `new` has, and the reverse."""
    old_terms, new_terms = extract_match_terms(old), extract_match_terms(new)
    return compute_shared_ratio(old_terms, new_terms), compute_shared_ratio(new_terms, old_terms)


def _build_grammar(count: int, related: Collection[int]) -> str:
    """Return a GBNF grammar for "delete 1" … "delete COUNT" and "edit N" for the related numbers."""
    numbers = " | ".join(f'"{n}"' for n in range(1, count + 1))
    edit = " | ".join(f'"edit {n}"' for n in related)
    return f'root ::= "delete " place{" | " + edit if edit else ""}\nplace ::= {numbers}'
