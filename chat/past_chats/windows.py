"""Splits a message into sentences that can be quoted, and into windows of a few sentences that are embedded.

Pure functions. Spans are [start, end) in characters of the message's whole content.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from chat.memory.sentences import find_sentence_spans

# Characters of one window. On BEAM-100K windows of 240 and 400 characters found the same evidence as single
# sentences, which are three to five times as many.
WINDOW = 320
# A longer sentence is divided at a space.
LONGEST_SENTENCE = 200
# Only the beginning of a long message is indexed: 100 windows or less.
INDEXED = 20_000
# A shorter message, such as "The second one, please", is embedded together with the end of the message
# before.
NEEDS_CONTEXT, CONTEXT = 60, 160

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LETTER = re.compile(r"\w")
# Characters of scripts without blanks, of which two or three make a word.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")
# A sentence with fewer letters says nothing by itself: "Good.", "I asked."
_LEAST_LETTERS, _UNSPACED_LETTERS = 12, 3


class Span(NamedTuple):
    """A part of a message: [start, end)."""

    start: int
    end: int

    def read(self, text: str) -> str:
        """Return this part of the message's content on one line, with single spaces."""
        return " ".join(text[self.start : self.end].split())

    def overlaps(self, start: int, end: int) -> bool:
        """Return whether this span shares a character with [start, end)."""
        return self.start < end and start < self.end


def find_quotable_spans(text: str, left_out: Sequence[Sequence[int]] = ()) -> list[Span]:
    """Return the sentences of a message that may be quoted, in order.

    Leaves out code blocks, what lies beyond INDEXED characters, sentences of a few letters, and those that
    overlap a span of `left_out`.
    """
    bare = _CODE.sub(lambda found: "\n" * len(found[0]), text[:INDEXED])
    spans = [part for start, end in find_sentence_spans(bare) for part in _divide(bare, start, end)]
    return [
        span
        for span in spans
        if _count_letters(bare[span.start : span.end]) >= _LEAST_LETTERS
        and not any(span.overlaps(start, end) for start, end, *_ in left_out)
    ]


def split_window(text: str, start: int, end: int, left_out: Sequence[Sequence[int]] = ()) -> list[Span]:
    """Return the sentences of a window that may be quoted; the window is characters `start` to `end`."""
    spans = find_quotable_spans(text[start:end])
    moved = (Span(span.start + start, span.end + start) for span in spans)
    return [span for span in moved if not any(span.overlaps(first, last) for first, last, *_ in left_out)]


def _count_letters(sentence: str) -> int:
    unspaced = len(_UNSPACED.findall(sentence))
    return len(_LETTER.findall(sentence)) + (_UNSPACED_LETTERS - 1) * unspaced


def _divide(text: str, start: int, end: int) -> list[Span]:
    """Return a sentence as spans of at most LONGEST_SENTENCE characters, divided at spaces if it has any."""
    parts = []
    while end - start > LONGEST_SENTENCE:
        space = text.rfind(" ", start + 1, start + LONGEST_SENTENCE)
        middle = space if space > start else start + LONGEST_SENTENCE
        parts.append(Span(start, middle))
        start = middle
    return [*parts, Span(start, end)]


def group_windows(text: str, sentences: Sequence[Span]) -> list[Span]:
    """Return the windows of a message: adjacent sentences, at most WINDOW characters together."""
    windows: list[Span] = []
    for sentence in sentences:
        last = windows[-1] if windows else None
        if last and sentence.end - last.start <= WINDOW and not text[last.end : sentence.start].strip():
            windows[-1] = Span(last.start, sentence.end)
        else:
            windows.append(sentence)
    return windows


def build_embedded_text(text: str, window: Span, before: str) -> str:
    """Return the text by which a window is embedded; `before` is the message before."""
    own = window.read(text)
    if len(text) >= NEEDS_CONTEXT or not before:
        return own
    end = " ".join(before[-CONTEXT:].split())
    return f"{end} {own}"
