"""Which of an app's memories makes way for a new one, or absorbs it (seed 003, "Memory Compaction")."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from chat.llm.types import Lane, Provider, ProviderError, StopFlag, Turn
from chat.models import MAX_CONTENT, AppMemory
from chat.topics.match import shared, words

from .telling import sentences

SLOT = "app_choice"
_NEW_TOKENS = 8
# From here on, each seen from the other, two memories tell of one thing, and the newer tells it better.
_SAME = 0.6
# From here on, seen from one of them, two memories have to do with each other.
_RELATED = 0.3
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
class Choice:
    """What is to happen to one memory, as it was read: it goes, or says `text` from now on."""

    target: Any
    was: str
    text: str = ""
    reason: str = ""


class Unreadable(ProviderError):
    """The model's answer names no memory that may go or absorb the new one."""


def choose(
    provider: Provider, memories: Sequence[AppMemory], new: str, *, stop: StopFlag | None = None
) -> Choice:
    """Return what makes room for `new` among these.

    The model chooses among what words allow: only a memory that has to do with the new one may absorb it, and
    the text is put together from both (asked to write it, the default model left out what one of them said).
    Two memories about one thing need no model. Blocks while it reads and writes: call it from a worker
    thread, outside any transaction. Raises Unreadable, and lets ProviderError through.
    """
    ours = sorted((m for m in memories if not m.edited), key=lambda m: m.updated_at)
    likeness = {m.pk: _likeness(m.content, new) for m in ours}
    twin = max(ours, key=lambda m: min(likeness[m.pk]), default=None)
    if twin is not None and min(likeness[twin.pk]) >= _SAME:
        return Choice(twin.pk, twin.content, new, "about the same")
    listed = ours or sorted(memories, key=lambda m: m.updated_at)
    related = [n for n, m in enumerate(listed, 1) if max(likeness.get(m.pk, (0.0,))) >= _RELATED]
    notes = "\n".join(f"{n}. {memory.content}" for n, memory in enumerate(listed, 1))
    completion = provider.complete(
        [*prefix(), Turn("user", f"{notes}\nNew: {new}")],
        slot=SLOT,
        lane=Lane.BACKGROUND,
        max_tokens=_NEW_TOKENS,
        grammar=_grammar(len(listed), related),
        stop=stop,
    )
    return read(completion.text, listed, related, new)


def prefix() -> list[Turn]:
    """Return what every such question begins with."""
    turns = [Turn("system", SYSTEM)]
    for notes, answer in _EXAMPLES:
        turns += [Turn("user", notes), Turn("assistant", answer)]
    return turns


def read(answer: str, listed: Sequence[AppMemory], related: Collection[int], new: str) -> Choice:
    """Return the choice that an answer means; raises Unreadable where it cannot be carried out."""
    found = _ANSWER.fullmatch(answer.strip())
    place = int(found[2]) if found else 0
    if found is None or not 1 <= place <= len(listed):
        raise Unreadable("The answer names no memory.")
    memory = listed[place - 1]
    if found[1] == "delete":
        return Choice(memory.pk, memory.content, reason="helps least")
    if place not in related:
        raise Unreadable("The memory has nothing to do with the new one.")
    return Choice(memory.pk, memory.content, merged(memory.content, new), "says both")


def merged(old: str, new: str) -> str:
    """Return what both say, as far as a memory has room: how the old one begins, all of the new, the rest."""
    first, *rest = sentences(old)
    kept, told = [first], sentences(new)
    for one in (*told, *rest):
        if one not in kept and len(" ".join([*kept, one])) <= MAX_CONTENT:
            kept.append(one)
    # Where the beginning leaves no room for anything new, the new one is worth more.
    return " ".join(kept) if told[0] in kept else new


def _likeness(old: str, new: str) -> tuple[float, float]:
    """Return which share of each one's words the other has."""
    was, now = words(old), words(new)
    return shared(was, now), shared(now, was)


def _grammar(count: int, related: Collection[int]) -> str:
    places = " | ".join(f'"{n}"' for n in range(1, count + 1))
    edit = " | ".join(f'"edit {n}"' for n in related)
    return f'root ::= "delete " place{" | " + edit if edit else ""}\nplace ::= {places}'
