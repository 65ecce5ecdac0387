"""Which parts of a message state something about the user, judged by their form alone (design §5)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chat.memory import frames, jest, others, play
from chat.memory.secrets import REDACTED
from chat.memory.similar import content, tokens

# A full stop after a title or an abbreviation ends no sentence.
_SENTENCE = re.compile(
    r"(?<!\bSt\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\bProf\.)(?<!\bNr\.)(?<!\bno\.)(?<!\be\.g\.)"
    r"(?<!\bi\.e\.)(?<!\bz\.B\.)(?<!\bSr\.)(?<!\bSra\.)(?<!\bvs\.)(?<!\bca\.)(?<=[.!?…。！？；;])\s+|"
    r"(?<=[。！？；])|\n+|\s+(?=[–—]\s)"
)
_CLAUSE = re.compile(
    r",\s+|，|\s+(?:but|aber|mais|pero|ma|mas|and|und|et|y|e)\s+(?=\w+)|但是?|(?<=\w)\s+[–—-]\s+"
)

_POINTS_BACK = re.compile(
    r"^(?:(?:and|but|so|und|aber|et|mais|y|pero|e|ma|mas|–|—)\s+)*"
    r"(?:it(?:'s|'ll)?|its|he|she|they|this|that|these|those|there|es|er|sie|das|dies|il|elle|ils|"
    r"elles|c'est|"
    r"ça|cela|eso|esto|él|ella|ellos|lui|lei|questo|quello|ele|ela|isso|isto)\b|^(?:它|他|她|这|那)",
    re.I,
)
_MOST_PORTIONS = 8

# "Best queue of my life. Not."
_TAKES_BACK = re.compile(r"(?:just kidding|kidding|not|nicht|jk)[.!]*", re.I)

# Where a sentence starts to speak of the user anew: "I'm building a kiln | and I prefer short answers".
_ANEW = re.compile(
    r",?\s+(?:and|but|so)\s+(?=(?:i|i'm|i've|my|we|we're|our|please)\b)|,\s+(?=(?:i|i'm|i've|my|we|"
    r"please)\b)|"
    r",?\s+(?:und|aber)\s+(?=(?:ich|mein\w*|wir|bitte)\b)|,?\s+(?:et|mais)\s+(?=(?:je|on|mon|ma|mes|"
    r"nous)\b|j')|"
    r",?\s+(?:y|pero)\s+(?=(?:yo|me|mi|mis|estoy|soy|tengo)\b)|,?\s+(?:e|ma)\s+(?=(?:io|mi|mio|mia|sto|"
    r"sono|ho)\b)|"
    r",?\s+(?:e|mas)\s+(?=(?:eu|meu|minha|estou|sou|tenho)\b)",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the user; `reason` says why it states nothing, or is empty."""

    text: str
    reason: str = ""


def sentences(masked: str, *, playing: bool = False) -> list[Sentence]:
    """Return the sentences of a masked message in order, each judged; `playing` goes on until it is left."""
    ordered = frames.plays_system(masked)
    playing = playing or play.starts(masked)
    pieces = [piece.strip() for piece in _SENTENCE.split(masked) if piece and piece.strip()]
    judged: list[Sentence] = []
    sarcastic = False
    for piece in pieces:
        playing = playing and not play.ends(piece)
        sarcastic = sarcastic or jest.is_sarcastic(piece)
        if ordered or playing:
            judged.append(Sentence(piece, frames.SYSTEM if ordered else frames.ROLE_PLAY))
        elif judged and _TAKES_BACK.fullmatch(piece):
            judged[-1] = Sentence(judged[-1].text, frames.JOKE)
        elif sarcastic and jest.praises(piece):
            judged.append(Sentence(piece, frames.JOKE))
        else:
            judged.extend(_judge(piece))
    return judged


def joined(judged: Sequence[Sentence]) -> str:
    """Return what is left to read once the sentences that state nothing are taken out."""
    return " ".join(s.text for s in judged if not s.reason)


def portions(judged: Sequence[Sentence]) -> list[str]:
    """Return the statements in portions to be read one by one: a small model forgets all but the first.

    A sentence that points back ("It is written in Go") stays with the one before it; a very long message
    comes in portions of several sentences, at most `_MOST_PORTIONS`.
    """
    found: list[str] = []
    previous = False
    for sentence in judged:
        if not sentence.reason and previous and _POINTS_BACK.search(sentence.text):
            found[-1] += f" {sentence.text}"
        elif not sentence.reason:
            found.extend(_spoken_apart(sentence.text))
        previous = not sentence.reason
    size = -(-len(found) // _MOST_PORTIONS) or 1
    return [" ".join(found[start : start + size]) for start in range(0, len(found), size)]


def _spoken_apart(sentence: str) -> list[str]:
    """Return the sentence cut where it speaks of the user anew, if each piece states something by itself."""
    pieces = [""]
    end = 0
    for cut in _ANEW.finditer(sentence):
        pieces[-1] = sentence[end : cut.start()]
        pieces.append("")
        end = cut.end()
    pieces[-1] = sentence[end:]
    return pieces if all(map(frames.is_plain_statement, pieces)) else [sentence]


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
    if REDACTED in sentence:
        clean = ", ".join(part for part in clauses(sentence) if REDACTED not in part)
        return _judge(clean) if clean else [Sentence(sentence, frames.UNSAFE)]
    reason = frames.sentence_reason(sentence) or _hedged(sentence) or others.only_others(sentence)
    if reason != frames.QUESTION:
        return [Sentence(sentence, reason)]
    kept, rest = _opening_statement(sentence)
    return [Sentence(kept), Sentence(rest, reason)] if kept else [Sentence(sentence, reason)]


def _hedged(sentence: str) -> str:
    """Return that the user was not sure, when no clause of theirs is said without a hedge."""
    parts = clauses(sentence)
    sure = [part for part in parts if frames.speaks_of_self(part) and not frames.is_hedged(part)]
    # "I'm considering it, nothing is settled": what follows a hedge in the same breath shares it.
    return frames.HEDGED if any(map(frames.is_hedged, parts)) and not sure else ""


def _opening_statement(sentence: str) -> tuple[str, str]:
    for match in re.finditer(r"[,，:]\s*|\s[–—-]\s|\s(?:and|so|und|et|y|e)\s", sentence):
        head, tail = sentence[: match.start()].strip(), sentence[match.end() :].strip()
        if len(tokens(head)) >= 3 and frames.speaks_of_self(head) and frames.opens_question(tail):
            return head, tail
    return "", sentence
