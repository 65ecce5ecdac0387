"""Checks a text in which the model merged a candidate into a stored fact. Pure."""

from __future__ import annotations

import re

from chat.memory.change_markers import states_change
from chat.memory.text_similarity import (
    contains_stems,
    extract_content_stems,
    extract_names,
    extract_numbers,
    is_negated,
    normalize_text,
)

# In characters; the merged text must fit into the column of a fact.
MAX_MERGED = 300
# Words that join two statements; a merged text may contain them although neither text does.
_JOINING_STEMS = extract_content_stems(
    "which that who and with whose it also called named und die der das mit et qui avec y que con e che com"
)
# The beginnings of facts, which a merged text may use for either of the two texts.
_SUBJECT = re.compile(r"^(?:the )?user(?:'s)?\b", re.I)


def loses_words(candidate: str, fact: str, quote: str) -> bool:
    """Return whether the candidate, in place of the fact, would drop words that the user did not take back.

    `quote` is the user's sentence. A sentence that states a change takes the earlier value back.
    """
    return not states_change(quote) and not contains_stems(
        extract_content_stems(candidate) | _JOINING_STEMS, _get_own_stems(fact)
    )


def is_merged(text: str, candidate: str, fact: str) -> bool:
    """Return whether a text says what the candidate and the fact say, in their words, and nothing else."""
    own = _get_own_stems(text)
    both = _get_own_stems(candidate) | _get_own_stems(fact)
    return (
        0 < len(text) <= MAX_MERGED
        and "\n" not in text
        and normalize_text(text) not in (normalize_text(candidate), normalize_text(fact))
        and contains_stems(own | _JOINING_STEMS, both)
        and contains_stems(both | _JOINING_STEMS, own)
        and extract_numbers(text) == extract_numbers(candidate) | extract_numbers(fact)
        and _get_names(text) >= _get_names(candidate) | _get_names(fact)
        and is_negated(text) == is_negated(candidate) == is_negated(fact)
    )


def _get_own_stems(text: str) -> frozenset[str]:
    return extract_content_stems(_SUBJECT.sub("", text))


def _get_names(text: str) -> frozenset[str]:
    return extract_names(_SUBJECT.sub("User", text))
