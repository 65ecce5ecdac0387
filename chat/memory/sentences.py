"""Splits a text into sentences and clauses."""

from __future__ import annotations

import re

# Where a sentence ends: after ".", "!", "?", "…" or ";", at a line break, before a dash. A full stop after a
# title or an abbreviation ("Dr.", "z.B.") ends no sentence.
_SENTENCE_BREAK = re.compile(
    r"(?<!\bSt\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bProf\.)(?<!\bNr\.)(?<!\bno\.)(?<!\be\.g\.)"
    r"(?<!\bi\.e\.)(?<!\bz\.B\.)(?<!\bSr\.)(?<!\bSra\.)(?<!\bvs\.)(?<!\bca\.)(?<=[.!?…。！？；;])\s+|"
    r"(?<=[。！？；])|\n+|\s+(?=[–—]\s)"
)
# Where a clause ends: at a comma, before "but", "and" and their translations, at a dash between spaces.
_CLAUSE_BREAK = re.compile(
    r",\s+|，|\s+(?:but|aber|mais|pero|ma|mas|and|und|et|y|e)\s+(?=\w+)|但是?|(?<=\w)\s+[–—-]\s+"
)


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
            spans.append((start, start + len(stripped)))
    return spans


def split_clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence; each is a substring of the sentence."""
    return [c.strip() for c in _CLAUSE_BREAK.split(sentence) if c and c.strip()]
