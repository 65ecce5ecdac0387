"""Which parts of a message state something about the user, judged by their form alone (design §5)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chat.memory import frames
from chat.memory.similar import content, tokens

_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|(?<=[。！？])|\n+|\s+[–—]\s+|;\s+|；")
_CLAUSE = re.compile(
    r",\s+|，|\s+(?:but|aber|mais|pero|ma|mas|and|und|et|y|e)\s+(?=\w+)|但是?|(?<=\w)\s+[–—-]\s+"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the user; `reason` says why it states nothing, or is empty."""

    text: str
    reason: str = ""


def sentences(masked: str) -> list[Sentence]:
    """Return the sentences of a masked message in order, each judged."""
    whole = frames.whole_message(masked)
    pieces = [piece.strip() for piece in _SENTENCE.split(masked) if piece and piece.strip()]
    judged: list[Sentence] = []
    for piece in pieces:
        if whole:
            judged.append(Sentence(piece, whole))
        else:
            judged.extend(_judge(piece))
    return judged


def stated(masked: str) -> str:
    """Return what is left to read once the sentences that state nothing are taken out."""
    return " ".join(s.text for s in sentences(masked) if not s.reason)


def clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence; each still stands in the sentence word for word."""
    return [c.strip() for c in _CLAUSE.split(sentence) if c and c.strip()]


def support(fact: str, masked: str) -> Sentence | None:
    """Return the sentence that the fact leans on most: the one that shares most of its words."""
    wanted = content(fact)
    best: Sentence | None = None
    most = 0
    for sentence in sentences(masked):
        shared = len(wanted & content(sentence.text))
        # At a tie a statement wins over a question: the user may ask about what they just said.
        if shared > most or (shared == most and shared and best and best.reason and not sentence.reason):
            best, most = sentence, shared
    return best


def _judge(sentence: str) -> list[Sentence]:
    """Judge a sentence; a question keeps the statement that it opens with ("I'm a nurse, what…?")."""
    reason = frames.sentence_reason(sentence)
    if reason != frames.QUESTION:
        return [Sentence(sentence, reason)]
    kept, rest = _opening_statement(sentence)
    return [Sentence(kept), Sentence(rest, reason)] if kept else [Sentence(sentence, reason)]


def _opening_statement(sentence: str) -> tuple[str, str]:
    for match in re.finditer(r"[,，:]\s*|\s[–—-]\s|\s(?:and|so|und|et|y|e)\s", sentence):
        head, tail = sentence[: match.start()].strip(), sentence[match.end() :].strip()
        if len(tokens(head)) >= 3 and frames.speaks_of_self(head) and frames.opens_question(tail):
            return head, tail
    return "", sentence
