"""The canonical value of a fact, which different wordings of one fact share."""

from __future__ import annotations

from chat.memory.consolidate import KINDS_WITH_NAMED_VALUE
from chat.memory.text_similarity import (
    extract_core_stems,
    extract_names,
    extract_numbers,
    is_negated,
    normalize_text,
)


def build_canonical_value(kind: str, subject: str, text: str) -> str:
    """Return the kind, subject and value of a fact in one string; "" where the text has no value.

    The value of a home, an age or another kind with a named value is its names and numbers: "User lives in
    Oslo" and "User's home is Oslo" are one. That of other kinds is the stems of the words, in any order.
    """
    numbers = extract_numbers(text)
    named = extract_names(text) | numbers if kind in KINDS_WITH_NAMED_VALUE else frozenset()
    value = named or (extract_core_stems(text) | numbers)
    if not value:
        return ""
    return "|".join((kind, normalize_text(subject), "not" * is_negated(text), *sorted(value)))
