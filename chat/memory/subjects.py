"""What a single-valued fact is about: a deadline's project, a pet's name (design §3)."""

from __future__ import annotations

import re

from chat.memory.similar import names, tokens
from chat.memory.words import FUNCTION, MONTHS_AND_DAYS, NUMBERS

_CALLED = re.compile(
    r"\b(?:called|named|name is|heißt|namens|s'appelle|nommée?|llamad[oa]|se llama|chiamat[oa]|"
    r"chamad[oa])\s+([^\s,.]+)",
    re.I,
)
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


def subject_of(kind: str, text: str) -> str:
    """Return what tells two facts of one kind apart, case folded, at most 80 characters; often empty."""
    if kind == "pet":
        called = _CALLED.search(text)
        return _clip(called[1] if called else " ".join(sorted(_proper(text))[:1]))
    if kind == "deadline":
        proper = sorted(_proper(text))
        return _clip(" ".join(proper) if proper else _first_thing(text))
    return ""


def _proper(text: str) -> frozenset[str]:
    return names(text) - MONTHS_AND_DAYS


def _first_thing(text: str) -> str:
    """Return the first word that is not about time: "User's thesis is due on 3 May" gives "thesis"."""
    skipped = FUNCTION | _DEADLINE_WORDS | MONTHS_AND_DAYS | NUMBERS.keys()
    return next((w for w in tokens(text.casefold()) if w not in skipped and not w[0].isdigit()), "")


def _clip(subject: str) -> str:
    return subject.casefold()[:80]
