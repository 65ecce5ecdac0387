"""Scores the sentences of past conversations for one message. Pure arithmetic.

The parts of a score were tuned on the first ten chats of BEAM-100K, on 85 questions about 40 invented chats
(`tuning_messages.jsonl`) and on 31 cases with a few chats each, at 150 and 250 tokens of quotations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

# The parts of a score: the sentence's own words, the words of its whole message, the cosine of its window,
# the messages beside it, and the best sentence of its conversation. Each is divided by the largest of all.
_WORDS, _MESSAGE_WORDS, _COSINE, _BESIDE, _CONVERSATION = 0.85, 0.4, 0.35, 0.4, 0.5
_OWN_COSINE = 0.6
# Added to what the user said; taken from questions, which seldom hold an answer, and from replies that
# repeat past chats, maybe wrongly.
_USER, _QUESTION, _SECOND_HAND = 0.3, 0.4, 0.4
# How much the messages beside it count, by their distance: what follows a matching message answers it.
_DISTANCES = {-2: 0.7, -1: 1.0, 1: 0.6}
# The length at which BM25 neither raises nor lowers the weight of a sentence, in characters.
_USUAL_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the score of a sentence is computed from.

    `seq` is the place of its message in `conversation`, `coverage` the share of the asking message's words
    that it contains, by weight. `message_words` is the weight of those words in its whole message, and
    `cosine` that of its window. `is_second_hand` is true in a reply whose prompt quoted past conversations.
    """

    conversation: Hashable
    seq: int
    length: int
    is_user: bool
    is_question: bool
    coverage: float
    message_words: float
    cosine: float
    is_second_hand: bool = False


def score_sentences(sentences: Sequence[Evidence]) -> list[float]:
    """Return the scores of all sentences found for a message; they compare within this list only."""
    words = _divide([_saturate(s.coverage, s.length) for s in sentences])
    in_message = _divide([s.message_words for s in sentences])
    cosines = _divide([max(0.0, s.cosine) for s in sentences])
    of_message = [
        _MESSAGE_WORDS * said + _COSINE * near for said, near in zip(in_message, cosines, strict=True)
    ]
    beside = _divide(_look_beside(sentences, of_message))
    scores = [
        _WORDS * own + rest + _BESIDE * near + _judge_speaker(s)
        for s, own, rest, near in zip(sentences, words, of_message, beside, strict=True)
    ]
    best: dict[Hashable, float] = defaultdict(float)
    for s, score in zip(sentences, scores, strict=True):
        best[s.conversation] = max(best[s.conversation], score)
    of_conversation = _divide([best[s.conversation] for s in sentences])
    return [score + _CONVERSATION * share for score, share in zip(scores, of_conversation, strict=True)]


def _judge_speaker(s: Evidence) -> float:
    return _USER * s.is_user - _QUESTION * s.is_question - _SECOND_HAND * s.is_second_hand


def add_own_cosines(scores: Sequence[float], cosines: Sequence[float]) -> list[float]:
    """Return the scores of sentences with their own cosines added, which tell more than those of windows."""
    own = _divide([max(0.0, cosine) for cosine in cosines])
    return [score + _OWN_COSINE * share for score, share in zip(scores, own, strict=True)]


def _divide(values: Sequence[float]) -> list[float]:
    """Return the values divided by the largest, zeros where none is above 0."""
    largest = max(values, default=0.0)
    return [value / largest for value in values] if largest > 0 else [0.0] * len(values)


def _saturate(coverage: float, length: int) -> float:
    """Return the coverage as BM25 weighs it by the length of the sentence: short ones count more."""
    return coverage * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length / _USUAL_LENGTH))


def _look_beside(sentences: Sequence[Evidence], of_message: Sequence[float]) -> list[float]:
    best: dict[tuple[Hashable, int], float] = defaultdict(float)
    for s, value in zip(sentences, of_message, strict=True):
        place = (s.conversation, s.seq)
        best[place] = max(best[place], value)
    return [
        max(best.get((s.conversation, s.seq + step), 0.0) * share for step, share in _DISTANCES.items())
        for s in sentences
    ]
