"""Which of an app's memories makes way for a new one, or absorbs it (seed 003, "Memory Compaction")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chat.llm.types import Lane, Provider, ProviderError, StopFlag, Turn, Usage
from chat.models import MAX_CONTENT, AppMemory
from chat.topics.match import shared, words

from .telling import borne_out, sentences

SLOT = "app_choice"
_NEW_TOKENS = 80
# From here on two memories tell of one thing, and the newer tells it better.
_SAME = 0.6
# So much of both must stand in a text that is to replace them.
_KEPT = 0.4
_ANSWER = re.compile(r"(delete|edit) (\d+)(?:: (.+))?", re.S)
SYSTEM = (
    "A notebook is full. You are shown its notes, the oldest first, and a new one that is to be added. "
    "Either delete the one note that will help least in later chats, or edit one note that is about the same "
    "thing as the new note, so that it says both. Small talk and what is done and over goes first; lasting "
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
        "edit 2: The user had an interview at a school on 4 May and got the post. They begin on 1 August.",
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
    """The model's answer names no memory, or a text that says something else."""


def choose(
    provider: Provider, memories: Sequence[AppMemory], new: str, *, stop: StopFlag | None = None
) -> tuple[Choice, Usage]:
    """Return what makes room for `new` among these, and what the choice cost.

    Two memories about one thing need no model. Blocks while it reads and writes: call it from a worker
    thread, outside any transaction. Raises Unreadable, and lets ProviderError through.
    """
    ours = sorted((m for m in memories if not m.edited), key=lambda m: m.updated_at)
    if (twin := _twin(ours, new)) is not None:
        return Choice(twin.pk, twin.content, new, "about the same"), Usage()
    listed = ours or sorted(memories, key=lambda m: m.updated_at)
    notes = "\n".join(f"{n}. {memory.content}" for n, memory in enumerate(listed, 1))
    completion = provider.complete(
        [*prefix(), Turn("user", f"{notes}\nNew: {new}")],
        slot=SLOT,
        lane=Lane.BACKGROUND,
        max_tokens=_NEW_TOKENS,
        grammar=_grammar(len(listed)),
        stop=stop,
    )
    if completion.finish == "cancelled":
        raise ProviderError("The choice was not finished.")
    return read(completion.text, listed, new), completion.usage


def prefix() -> list[Turn]:
    """Return what every such question begins with."""
    turns = [Turn("system", SYSTEM)]
    for notes, answer in _EXAMPLES:
        turns += [Turn("user", notes), Turn("assistant", answer)]
    return turns


def read(answer: str, listed: Sequence[AppMemory], new: str) -> Choice:
    """Return the choice that an answer means; Unreadable where none can be carried out."""
    found = _ANSWER.fullmatch(answer.strip())
    place = int(found[2]) if found else 0
    if found is None or not 1 <= place <= len(listed):
        raise Unreadable("The answer names no memory.")
    memory = listed[place - 1]
    if found[1] == "delete":
        return Choice(memory.pk, memory.content, reason="helps least")
    text = " ".join((found[3] or "").split())
    both = f"{memory.content} {new}"
    own = words(text)
    true = all(borne_out(sentence, both) for sentence in sentences(text))
    kept = min(shared(words(memory.content), own), shared(words(new), own))
    if not text or len(text) > MAX_CONTENT or not true or kept < _KEPT:
        raise Unreadable("The new text does not say what both said.")
    return Choice(memory.pk, memory.content, text, "says both")


def _twin(memories: Sequence[AppMemory], new: str) -> AppMemory | None:
    own = words(new)
    alike = [(shared(own, words(m.content)), m) for m in memories]
    best = max(alike, key=lambda pair: pair[0], default=None)
    return best[1] if best is not None and best[0] >= _SAME else None


def _grammar(count: int) -> str:
    places = " | ".join(f'"{n}"' for n in range(1, count + 1))
    return (
        'root ::= "delete " place | "edit " place ": " sentence (" " sentence)?\n'
        f"place ::= {places}\n"
        r"sentence ::= ([^.!?。\n\r] | [.] [0-9a-z])+ [.!?。]"
    )
