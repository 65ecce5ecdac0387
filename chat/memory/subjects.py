"""Extracts the subject of a fact, which separates facts of one kind: a deadline's project, a pet's name."""

from __future__ import annotations

import re

from chat.memory.stopwords import FUNCTION_WORDS, MONTHS_AND_DAYS, NUMBER_WORDS
from chat.memory.text_similarity import extract_names, tokenize

# "called Coco", "named Rex", "heißt Bello", "se llama Tango": group 1 is the name.
_CALLED = re.compile(
    r"\b(?:called|named|name is|heißt|namens|s'appelle|nommée?|llamad[oa]|se llama|chiamat[oa]|"
    r"chamad[oa])\s+([^\s,.]+)",
    re.I,
)
# Words of deadlines that do not name the project.
_DEADLINE_WORDS = frozenset(
    [
        "deadline",
        "due",
        "launch",
        "launches",
        "launched",
        "ship",
        "ships",
        "shipping",
        "slipped",
        "moved",
        "date",
        "must",
        "done",
        "finished",
        "finish",
        "ready",
        "end",
        "project",
        "delivery",
        "release",
        "released",
        "is",
        "by",
        "until",
        "before",
        "week",
        "month",
        "year",
        "today",
        "tomorrow",
        "has",
        "start",
        "starts",
    ]
)


def extract_subject(kind: str, text: str) -> str:
    """Return the subject of a pet or deadline, case folded, at most 80 characters; "" for other kinds."""
    if kind == "pet":
        called = _CALLED.search(text)
        return _fold(called[1] if called else " ".join(sorted(_find_names(text))[:1]))
    if kind == "deadline":
        names = sorted(_find_names(text))
        return _fold(" ".join(names) if names else _find_first_noun(text))
    return ""


def _find_names(text: str) -> frozenset[str]:
    return extract_names(text) - MONTHS_AND_DAYS


def _find_first_noun(text: str) -> str:
    """Return the first word that is no function, time or deadline word ("thesis"), or ""."""
    skipped = FUNCTION_WORDS | _DEADLINE_WORDS | MONTHS_AND_DAYS | NUMBER_WORDS.keys()
    return next((w for w in tokenize(text.casefold()) if w not in skipped and not w[0].isdigit()), "")


def _fold(subject: str) -> str:
    return subject.casefold()[:80]
