"""Which topic a message belongs to: by vectors where both have one, else by shared words (design §7)."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Scale:
    """From which likeness on a message joins another topic, and down to which it stays in the active one."""

    join: float
    stay: float


# The seed's 0.7 holds for embedders that nobody has measured.
UNMEASURED = Scale(join=0.7, stay=0.7)
# Measured on 60 conversations shuffled from 10 subjects of 6 messages each, and on 7 other subjects of 5 that
# nothing was tuned on (in brackets). With the mean of its own topic a follow-up has a cosine of 0.13 / 0.31 /
# 0.45 (5th, 50th, 90th percentile), with another one that is active an opening has 0.06 / 0.16 / 0.20 (50th,
# 90th, 95th).
#   join 0.70, stay 0.70   stays  0 % ( 0 %)   opens 100 % (100 %)   comes back  0 % ( 0 %)   37 topics of 6
#   join 0.25, stay 0.15   stays 79 % (80 %)   opens  82 % ( 90 %)   comes back 63 % (47 %)   10 topics of 6
#   join 0.30, stay 0.15   stays 78 % (79 %)   opens  85 % ( 93 %)   comes back 53 % (41 %)   12 topics of 6
#   join 0.30, stay 0.20   stays 74 % (67 %)   opens  96 % ( 96 %)   comes back 58 % (42 %)   15 topics of 6
# To its topic's last message alone a follow-up is nearest in 54 %, to the mean of its messages in 84 %.
SCALES = {"minilm-l6-int8": Scale(join=0.25, stay=0.15)}
WORDS = Scale(join=0.25, stay=0.01)
# Fewer words than that share none by chance.
_TELLING = 6
# How much nearer than the active topic another one must be, in units of its `join`.
MARGIN = 1 / 3
# What is this short ("ok thanks", "and the second one?") says too little to change the subject.
SHORT = 4
_FOLLOW_UP = 8  # words: a longer message says for itself what it is about
_POINTS_BACK = re.compile(
    r"\b(?:it|its|they|them|these|those|davon|dafür|dazu|damit|dies|ça|cela|celui|eso|esto|ello|questo|quello|"
    r"ciò|isso|isto|nisso)\b|[它这那]",
    re.IGNORECASE,
)
# How many messages a topic's vector remembers.
REMEMBERED = 8

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Candidate(Generic[Key]):
    """A topic as matching sees it; `vector` is None where it is of another embedder, or there is none.

    `words` are those of its messages; empty where there is a vector, or where only small talk was said.
    """

    id: Key
    vector: Vector | None
    words: frozenset[str]


def choose(
    text: str, vector: Vector | None, embedder: str, topics: Sequence[Candidate[Key]], active: Key | None
) -> Key | None:
    """Return the id of the topic that a message belongs to, None when it opens one.

    A follow-up is often like nothing at all ("How warm is it there in May?"), so the active topic keeps what
    is not clearly of another one: `stay` is below `join`.
    """
    if active is not None and (is_short(text) or _is_small_talk(topics, active)):
        return active
    own = words(text)
    strengths: dict[Key, tuple[float, Scale]] = {}
    for topic in topics:
        if vector is not None and topic.vector is not None:
            scale, score = SCALES.get(embedder, UNMEASURED), cosine(vector, topic.vector)
        else:
            scale, score = WORDS, shared(own, topic.words)
        strengths[topic.id] = score / scale.join, scale
    here, scale = strengths.pop(active, (0.0, WORDS)) if active is not None else (0.0, WORDS)
    if strengths:
        nearest = max(strengths, key=lambda key: strengths[key][0])
        if (best := strengths[nearest][0]) >= 1 and best >= here + MARGIN:
            return nearest
    if active is None:
        return None
    says_little = scale is WORDS and len(own) < _TELLING
    return active if says_little or points_back(text) or here >= scale.stay / scale.join else None


def points_back(text: str) -> bool:
    """Tell whether a short message speaks of what was said before ("What is a good name for it?")."""
    return len(_WORD.findall(text)) <= _FOLLOW_UP and bool(_POINTS_BACK.search(text))


def is_short(text: str) -> bool:
    """Tell whether a message says too little to be matched; two Chinese or Japanese characters are a word."""
    found = _WORD.findall(text)
    wide = sum(1 for word in found if _WIDE.match(word))
    return len(found) - wide + wide / 2 <= SHORT or len(words(text)) < 2


def _is_small_talk(topics: Sequence[Candidate[Key]], active: Key) -> bool:
    """Tell whether nothing was said in the active topic yet that could be compared ("Hi")."""
    return any(topic.id == active and topic.vector is None and not topic.words for topic in topics)


def words(text: str) -> frozenset[str]:
    """Return what of a text can be compared in any language: the heads of its longer words, wide pairs."""
    return frozenset(_heads(text))


def _heads(text: str) -> Iterator[str]:
    before = ""
    for word in _WORD.findall(text.casefold()):
        if _WIDE.match(word):
            if before:
                yield before + word
            before = word
            continue
        before = ""
        # Short words are mostly grammar, and endings differ.
        if len(word) >= 4:
            yield word[:6]


def shared(own: frozenset[str], topic: frozenset[str]) -> float:
    """Return which share of a message's words the topic has, 0–1."""
    return len(own & topic) / len(own) if own else 0.0


def cosine(a: Vector, b: Vector) -> float:
    """Return the cosine of two vectors, 0 when one is null or their sizes differ."""
    if a.shape != b.shape:
        return 0.0
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.dot(a, b)) / length if length else 0.0


def moved(topic: Vector | None, message: Vector, seen: int) -> Vector:
    """Return a topic's vector after one more message; `seen` is how many it had.

    A running mean over the last few: one message alone is too particular.
    """
    if topic is None or topic.shape != message.shape:
        return message
    return np.asarray(topic + (message - topic) / min(max(seen, 1) + 1, REMEMBERED), dtype=np.float32)
