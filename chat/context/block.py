"""The memory block at the head of a prompt: chosen under a budget, rendered in a fixed order (design §6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from chat.memory.lines import one_line
from chat.models import Category, Fact

HEADER = "## What you know about this user"
SECTIONS = {
    Category.PROJECT: "Current work:",
    Category.PREFERENCE: "Preferences:",
    Category.IDENTITY: "About user:",
}
# How the user wants to be answered holds for every turn.
ANSWER_KINDS = frozenset({"reply_language", "reply_style", "units"})
_ORDER = {category: rank for rank, category in enumerate(SECTIONS)}


def belongs_in_block(fact: Fact) -> bool:
    """Return whether a fact is for every turn: pinned, project work, or how to answer."""
    return fact.pinned or fact.category == Category.PROJECT or fact.kind in ANSWER_KINDS


def render(facts: Iterable[Fact]) -> str:
    """Return the block's text, empty when there is nothing to say; the same facts give the same bytes."""
    ordered = sorted(facts, key=lambda f: (_ORDER[Category(f.category)], not f.pinned, str(f.id)))
    if not ordered:
        return ""
    parts = [HEADER]
    for category, title in SECTIONS.items():
        if lines := [f"- {one_line(f.text)}" for f in ordered if f.category == category]:
            parts.append("\n".join([title, *lines]))
    return "\n\n".join(parts)


def choose(facts: Sequence[Fact], budget: int, count: Callable[[str], int]) -> list[Fact]:
    """Return the facts that fit `budget` tokens: by category, pinned, confidence, then recency."""
    ranked = sorted(
        (f for f in facts if belongs_in_block(f)),
        key=lambda f: (_ORDER[Category(f.category)], not f.pinned, -f.confidence, -f.last_seen.timestamp()),
    )
    # The header and section titles are part of the price.
    left = budget - count("\n\n".join([HEADER, *SECTIONS.values()]))
    chosen = []
    for fact in ranked:
        price = count(f"- {one_line(fact.text)}\n")
        if price <= left:
            chosen.append(fact)
            left -= price
    return chosen
