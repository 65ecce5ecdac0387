"""Matches a message to a topic: by cosine where both have a vector, else by shared words."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The similarity at which a message joins another topic, and below which it leaves the active topic."""

    join: float
    stay: float


# For embedders without measurements.
DEFAULT_THRESHOLDS = Thresholds(join=0.7, stay=0.7)
# Measured with MiniLM on 60 conversations, each shuffled from 10 subjects of 6 messages; in brackets: on 7
# subjects of 5 messages that were not used for tuning. The cosine of a follow-up with its own topic's mean
# vector is 0.13 / 0.31 / 0.45 (5th, 50th, 90th percentile); the cosine of a message that opens a subject with
# the active topic is 0.06 / 0.16 / 0.20 (50th, 90th, 95th percentile). Columns: follow-ups kept in the active
# topic, new subjects that open a topic, returns to an earlier topic that are recognised, topics found (6 is
# right).
#   join 0.70, stay 0.70   kept  0 % ( 0 %)   opened 100 % (100 %)   returned  0 % ( 0 %)   37 topics of 6
#   join 0.25, stay 0.15   kept 79 % (80 %)   opened  82 % ( 90 %)   returned 63 % (47 %)   10 topics of 6
#   join 0.30, stay 0.15   kept 78 % (79 %)   opened  85 % ( 93 %)   returned 53 % (41 %)   12 topics of 6
#   join 0.30, stay 0.20   kept 74 % (67 %)   opened  96 % ( 96 %)   returned 58 % (42 %)   15 topics of 6
# The nearest topic of a follow-up is the right one in 84 % of cases when compared with the mean vector of the
# topic's messages, in 54 % when compared with its last message.
# Measured later by `python -m tests.benchmarks.embedders` for both, on conversations of six subjects; in
# brackets: in German, French and Chinese, which MiniLM does not know.
#   MiniLM 0.25, 0.15   kept 65 % (100 %)   opened 94 % ( 2 %)   returned 31 % (100 %)   12 ( 1) topics of 6
#   USE    0.35, 0.25   kept 67 % ( 80 %)   opened 79 % (74 %)   returned 29 % ( 41 %)    9 ( 8) topics of 6
#   USE    0.40, 0.30   kept 50 % ( 69 %)   opened 93 % (86 %)   returned 21 % ( 39 %)   15 (12) topics of 6
THRESHOLDS_BY_EMBEDDER = {
    "minilm-l6-int8": Thresholds(join=0.25, stay=0.15),
    "use-multilingual-v3": Thresholds(join=0.35, stay=0.25),
}
_SMALLEST_JOIN = 0.001
WORD_THRESHOLDS = Thresholds(join=0.25, stay=0.01)
# A message with fewer match terms than this may share none with its own topic by chance, so word matching
# alone does not move the message out of the active topic.
_MIN_TERMS_TO_LEAVE = 6
# How much better than the active topic another topic must match; both scores are divided by their `join`.
MARGIN = 1 / 3
# Messages of at most so many words ("ok thanks", "and the second one?") never change the topic.
SHORT_WORDS = 4
_MAX_FOLLOW_UP_WORDS = 8  # a longer message names its subject itself, even where it has a pronoun
# Pronouns that refer to the previous messages: "it", "davon", "cela", "questo", "它".
_REFERRING_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|these|those|davon|dafür|dazu|damit|dies|ça|cela|celui|eso|esto|ello|questo|quello|"
    r"ciò|isso|isto|nisso)\b|[它这那]",
    re.IGNORECASE,
)
# A topic's vector is a running mean over about this many messages.
MEAN_WINDOW = 8

# A word of letters and digits, or a single Japanese or Chinese character, which has no spaces around it.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class TopicCandidate(Generic[Key]):
    """A topic that a message may belong to; `vector` is None if missing or made by another embedder.

    `words` are the match terms of the topic's messages; empty where there is a vector, or where the topic
    holds only small talk.
    """

    id: Key
    vector: Vector | None
    words: frozenset[str]


def choose_topic(
    text: str,
    vector: Vector | None,
    embedder: str,
    topics: Sequence[TopicCandidate[Key]],
    active: Key | None,
    threshold: float | None = None,
) -> Key | None:
    """Return the id of the topic that a message belongs to, or None when the message opens a new topic.

    `threshold` is the cosine from which a message joins the most similar topic; None stands for the
    thresholds measured for the embedder. It does not apply to the comparison by words.

    A follow-up is often similar to no topic ("How warm is it there in May?"), so a message stays in the
    active topic unless another topic matches clearly better: `stay` is below `join`.
    """
    if active is not None and (is_too_short(text) or _is_small_talk(topics, active)):
        return active
    own = extract_match_terms(text)
    by_vector = _select_thresholds(embedder, threshold)
    # Between two topics above a threshold that the caller chose, the more similar one is right.
    margin = MARGIN if threshold is None else 0.0
    strengths: dict[Key, tuple[float, Thresholds]] = {}
    for topic in topics:
        if vector is not None and topic.vector is not None:
            scale, score = by_vector, compute_cosine(vector, topic.vector)
        else:
            scale, score = WORD_THRESHOLDS, compute_shared_ratio(own, topic.words)
        strengths[topic.id] = score / scale.join, scale
    here, scale = (
        strengths.pop(active, (0.0, WORD_THRESHOLDS)) if active is not None else (0.0, WORD_THRESHOLDS)
    )
    if strengths:
        nearest = max(strengths, key=lambda key: strengths[key][0])
        if (best := strengths[nearest][0]) >= 1 and best >= here + margin:
            return nearest
    if active is None:
        return None
    says_little = scale is WORD_THRESHOLDS and len(own) < _MIN_TERMS_TO_LEAVE
    return active if says_little or refers_back(text) or here >= scale.stay / scale.join else None


def _select_thresholds(embedder: str, threshold: float | None) -> Thresholds:
    if threshold is None:
        return THRESHOLDS_BY_EMBEDDER.get(embedder, DEFAULT_THRESHOLDS)
    # Scores are divided by `join`.
    join = max(threshold, _SMALLEST_JOIN)
    return Thresholds(join, join)


def refers_back(text: str) -> bool:
    """Return whether a short message has a pronoun for an earlier subject ("What is a good name for it?")."""
    return len(_WORD.findall(text)) <= _MAX_FOLLOW_UP_WORDS and bool(_REFERRING_PRONOUN.search(text))


def is_too_short(text: str) -> bool:
    """Return whether a message is too short to be matched; two Chinese or Japanese characters count one."""
    found = _WORD.findall(text)
    cjk = sum(1 for word in found if _CJK.match(word)) if _CJK.search(text) else 0
    return len(found) - cjk + cjk / 2 <= SHORT_WORDS or len(extract_match_terms(text)) < 2


def _is_small_talk(topics: Sequence[TopicCandidate[Key]], active: Key) -> bool:
    """Return whether the active topic has no vector and no match terms yet (only "Hi" was said)."""
    return any(topic.id == active and topic.vector is None and not topic.words for topic in topics)


def extract_match_terms(text: str) -> frozenset[str]:
    """Return terms to compare texts by in any language, case folded.

    The terms are the first six letters of words of at least four letters, and the pairs of adjacent Chinese
    or Japanese characters.
    """
    return frozenset(_iterate_match_terms(text))


def _iterate_match_terms(text: str) -> Iterator[str]:
    previous_cjk = ""
    for word in _WORD.findall(text.casefold()):
        if _CJK.match(word):
            if previous_cjk:
                yield previous_cjk + word
            previous_cjk = word
            continue
        previous_cjk = ""
        # Words below four letters are mostly function words; cutting at six letters drops inflected endings.
        if len(word) >= 4:
            yield word[:6]


def compute_shared_ratio(own: frozenset[str], topic: frozenset[str]) -> float:
    """Return the share of the terms in `own` that `topic` has too, 0–1; 0 when `own` is empty."""
    return len(own & topic) / len(own) if own else 0.0


def compute_cosine(a: Vector, b: Vector) -> float:
    """Return the cosine of two vectors, 0 when one is a zero vector or their sizes differ."""
    if a.shape != b.shape:
        return 0.0
    # `np.linalg.norm` takes three times as long for vectors of this size.
    length = math.sqrt(float(a.dot(a)) * float(b.dot(b)))
    return float(a.dot(b)) / length if length else 0.0


def update_topic_vector(topic: Vector | None, message: Vector, seen: int) -> Vector:
    """Return a topic's vector (float32) after one more message; `seen` is the number of messages before it.

    The vector is a running mean over about `MEAN_WINDOW` messages: the last message alone matches its
    follow-ups less often (see the figures at THRESHOLDS_BY_EMBEDDER).
    """
    if topic is None or topic.shape != message.shape:
        return message
    return np.asarray(topic + (message - topic) / min(max(seen, 1) + 1, MEAN_WINDOW), dtype=np.float32)
