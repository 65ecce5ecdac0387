"""Splits a text into sentences and clauses."""

from __future__ import annotations

import re

# A sentence does not end at the full stop of an abbreviation, or of a German ordinal number: "zum 1. Mai".
ABBREVIATIONS = (
    *("St.", "Dr.", "Mr.", "Mrs.", "Ms.", "Prof.", "Sr.", "Sra."),
    *("Nr.", "no.", "e.g.", "i.e.", "z.B.", "vs.", "ca."),
)
_BEFORE_ORDINALS = ("zum", "vom", "den", "dem", "der", "bis")
_NO_END = "".join(
    [
        *(rf"(?<!\b{re.escape(text)})" for text in ABBREVIATIONS),
        *(rf"(?<!\b{word} {day}\.)" for word in _BEFORE_ORDINALS for day in (r"\d", r"\d\d")),
        # "Am 12. März", but "I am 30. My knee hurts".
        *(rf"(?:(?<!\b[Aa]m {day}\.)|(?<=\b[Ii] am {day}\.))" for day in (r"\d", r"\d\d")),
    ]
)
# Where a sentence ends: after ".", "!", "?", "…" or ";", at a line break, before a dash.
_SENTENCE_BREAK = re.compile(rf"{_NO_END}(?<=[.!?…。！？；;])\s+|(?<=[。！？；])|\n+|(?<!\s)\s+(?=[–—]\s)")
# Where a clause ends: at a comma, before "but", "and" and their translations, at a dash between spaces.
_CLAUSE_BREAK = re.compile(
    r",\s+|，|(?<!\s)\s+(?:but|aber|mais|pero|ma|mas|and|und|et|y|e)\s+(?=\w)|但是?|(?<=\w)\s+[–—-]\s+"
)


# In characters. A longer sentence is divided at a space: some patterns take quadratic time for a sentence.
LONGEST_SENTENCE = 1000


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, without the spaces around them."""
    return [text[start:end] for start, end in find_sentence_spans(text)]


def find_sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of the sentences of a text in order, without the spaces around them."""
    breaks = [(found.start(), found.end()) for found in _SENTENCE_BREAK.finditer(text)]
    starts, ends = [0, *(end for _, end in breaks)], [*(start for start, _ in breaks), len(text)]
    spans = []
    for start, end in zip(starts, ends, strict=True):
        sentence = text[start:end]
        if stripped := sentence.strip():
            start += len(sentence) - len(sentence.lstrip())
            spans += _divide(text, start, start + len(stripped))
    return spans


def _divide(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return a sentence as spans of at most LONGEST_SENTENCE characters, without the spaces around them."""
    spans = []
    while end - start > LONGEST_SENTENCE:
        space = text.rfind(" ", start + 1, start + LONGEST_SENTENCE)
        middle = space if space > start else start + LONGEST_SENTENCE
        spans.append((start, start + len(text[start:middle].rstrip())))
        start = end - len(text[middle:end].lstrip())
    return [*spans, (start, end)]


def split_clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence; each is a substring of the sentence."""
    return [c.strip() for c in _CLAUSE_BREAK.split(sentence) if c and c.strip()]
