"""The turn note: what this message needs and the block lacks, right before the user's words (design §6)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from chat.memory.lines import one_line
from chat.memory.similar import overlap
from chat.models import Category, Fact

from .budget import NOTE_TOKENS

# Personal pronouns and places call for identity facts (seed 004, "Priority Order"). "I" alone does not:
# it stands in nearly every message.
_PERSONAL = re.compile(
    r"\b(my|mine|me|myself|our|ours|us|where i|who i|when i|here|nearby|local|"
    r"mein\w*|mir|mich|unser\w*|mon|ma|mes|moi|notre|nos|mi|mis|mío|mía|nuestr\w*|mio|mia|miei|meu|minha|meus)\b|我",
    re.IGNORECASE,
)
_ABOUT_USER = re.compile(
    r"\b(about me|who am i|know me|know of me|remember(ed)? (about |of )?me|remember about|"
    r"über mich|wer bin ich|sur moi|qui suis-je|sobre mí|sobre mi|quién soy|su di me|chi sono|"
    r"sobre mim|quem sou)\b"
    r"|关于我|了解我|我是谁",
    re.IGNORECASE,
)
# It stands in the user's own turn, so it speaks as the user does. Asked "What do you know about me?" the
# default model answered from this form 4 times of 4; from "[What you know about the user: …]" never.
_OPEN = "(What you remember about me from earlier conversations:"
_CLOSE = ")"


def asks_about_user(message: str) -> bool:
    """Return whether the message asks what is known of the user."""
    return bool(_ABOUT_USER.search(message))


def calls_for_identity(message: str) -> bool:
    """Return whether the message speaks of the user's own person or place."""
    return bool(_PERSONAL.search(message))


def render(facts: Sequence[Fact]) -> str:
    """Return the note's text, empty without facts."""
    if not facts:
        return ""
    return "\n".join([_OPEN, *(f"- {one_line(f.text)}" for f in facts)]) + "\n" + _CLOSE


def choose(
    facts: Sequence[Fact],
    message: str,
    in_prompt: Collection[str],
    budget: int,
    count: Callable[[str], int],
) -> list[Fact]:
    """Return what the note says: everything when users ask about themselves, else what the message touches.

    `in_prompt` names the facts that the block or an earlier note in this prompt already says.
    """
    everything = asks_about_user(message)
    personal = calls_for_identity(message)
    scored = []
    for fact in facts:
        if str(fact.id) in in_prompt and not everything:
            continue
        shared = overlap(message, fact.text)
        wanted = everything or shared > 0 or (personal and fact.category == Category.IDENTITY)
        if wanted:
            scored.append((-shared, not fact.pinned, -fact.confidence, str(fact.id), fact))
    left = (budget if everything else NOTE_TOKENS) - count(f"{_OPEN}\n{_CLOSE}")
    chosen = []
    for *_, fact in sorted(scored, key=lambda item: item[:4]):
        price = count(f"- {one_line(fact.text)}\n")
        if price <= left:
            chosen.append(fact)
            left -= price
    return sorted(chosen, key=lambda f: (f.category, str(f.id)))
