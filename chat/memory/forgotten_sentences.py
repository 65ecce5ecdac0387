"""Finds the sentences of messages and summaries that say a forgotten fact, by words and by meaning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from chat.memory.kept_out import Span
from chat.memory.sentences import find_sentence_spans, split_clauses
from chat.memory.text_similarity import (
    contains_stems,
    extract_content_stems,
    extract_core_stems,
    extract_numbers,
    is_negated,
    normalize_text,
    remove_numbers,
)

# The share of a clause's words that must be the fact's. Below it the clause speaks of more than the fact:
# "Chess was played at the court of Baghdad" does not say that the user likes chess.
_MIN_SHARE = 1 / 3
# The share of a fact's words by which the nearest sentence of its own source counts as saying it.
_MIN_SOURCE_SHARE = 1 / 2
# A quote of fewer words may occur in sentences about anything, so it identifies none.
_MIN_QUOTE_WORDS = 3
_QUESTION_MARKS = ("?", "？")
# The beginning of a word by which a sentence is chosen for comparison, as in `contains_stems`.
_HEAD = 4


@dataclass(frozen=True, slots=True)
class _Wording:
    """One wording of a forgotten fact, in the form in which sentences are compared with it."""

    core: frozenset[str]
    numbers: frozenset[str]
    negated: bool

    def is_said_by(self, clause: str, min_share: float = _MIN_SHARE) -> bool:
        """Return whether a clause has all words of the wording, and few others."""
        stems = extract_content_stems(clause)
        if not contains_stems(stems, self.core) or not self.numbers <= extract_numbers(clause):
            return False
        is_short = len(self.core) >= min_share * len(extract_core_stems(clause))
        return is_short and is_negated(clause) == self.negated


@dataclass(slots=True)
class SentenceFinder:
    """Finds the sentences that say one of these wordings of forgotten facts."""

    wordings: list[_Wording] = field(default_factory=list)
    # The wordings by the beginnings of their words.
    by_head: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> SentenceFinder:
        """Return a finder for facts with these texts."""
        finder = cls()
        for text in texts:
            # Numbers are compared by their value: "two" and "2" are the same.
            if core := remove_numbers(extract_core_stems(text)):
                for stem in core:
                    finder.by_head[stem[:_HEAD]].add(len(finder.wordings))
                finder.wordings.append(_Wording(core, extract_numbers(text), is_negated(text)))
        return finder

    def may_occur_in(self, text: str) -> bool:
        """Return whether a text has the beginning of any of the words; a quick test before the real one."""
        folded = text.casefold()
        return any(head in folded for head in self.by_head)

    def says(self, sentence: str) -> bool:
        """Return whether a sentence says one of the facts by its words; a question says nothing."""
        if sentence.endswith(_QUESTION_MARKS):
            return False
        near = self.find_near(sentence)
        return bool(near) and any(
            wording.is_said_by(clause) for clause in (sentence, *split_clauses(sentence)) for wording in near
        )

    def find_near(self, sentence: str) -> list[_Wording]:
        """Return the wordings that share the beginning of a word with a sentence."""
        heads = {stem[:_HEAD] for stem in extract_content_stems(sentence)}
        return [
            self.wordings[n] for n in set().union(*(self.by_head[h] for h in heads & self.by_head.keys()))
        ]

    def find_spans(self, text: str) -> list[Span]:
        """Return the sentences of a text that say one of the facts by their words."""
        if not self.may_occur_in(text):
            return []
        return [(start, end) for start, end in find_sentence_spans(text) if self.says(text[start:end])]


def find_source_spans(text: str, wordings: Sequence[str], quotes: Sequence[str]) -> list[Span]:
    """Return the sentences of a fact's own source that say it.

    They are those of its quotes, those with all its words, or else the nearest one.
    """
    spans = find_sentence_spans(text)
    finder = SentenceFinder.from_texts(wordings)
    found = [
        (start, end)
        for start, end in spans
        if _is_quoted(text[start:end], quotes)
        or any(wording.is_said_by(text[start:end], 0) for wording in finder.wordings)
    ]
    return found or _find_nearest(text, spans, finder)


def _is_quoted(sentence: str, quotes: Sequence[str]) -> bool:
    said = f" {normalize_text(sentence)} "
    for quote in quotes:
        quoted = normalize_text(quote)
        if said.strip() and (said in f" {quoted} " or (_is_long(quoted) and f" {quoted} " in said)):
            return True
    return False


def _is_long(quote: str) -> bool:
    return len(quote.split()) >= _MIN_QUOTE_WORDS


def _find_nearest(text: str, spans: Sequence[Span], finder: SentenceFinder) -> list[Span]:
    def share(span: Span) -> float:
        stems = extract_content_stems(text[span[0] : span[1]])
        return max((len(stems & w.core) / len(w.core) for w in finder.wordings), default=0)

    best = max(spans, key=share, default=None)
    return [best] if best is not None and share(best) >= _MIN_SOURCE_SHARE else []
