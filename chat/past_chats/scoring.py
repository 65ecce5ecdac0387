"""Scores the sentences of past conversations by how likely they answer a message. Pure arithmetic.

The scores are log-odds within one ranking. `tests/benchmarks/train_ranking.py` fits the weights.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

# The inputs of a score, and their weights. The words of the message that the sentence contains and the cosine
# of its window count by themselves and as shares of the largest. `before` and `two_before` are the best
# cosines of the messages before: an answer follows what it answers. `chat_words` and `chat_cosine` are the
# best of the conversation. The training data have no second-hand sentences, which may repeat something
# wrongly; the weight of these was chosen by hand.
WEIGHTS = {
    "words": 2.4,
    "words_share": 0.38,
    "cosine": 3.41,
    "cosine_share": 0.6,
    "before": 0.64,
    "two_before": 1.14,
    "chat_words": 1.53,
    "chat_cosine": 3.42,
    "is_user": 2.08,
    "is_question": -1.44,
    "length": 1.16,
    "is_first": -2.21,
    "has_digit": 0.78,
    "is_second_hand": -2.5,
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the score of a sentence is computed from.

    `seq` is the place of its message in `conversation`, `length` in characters, `coverage` the share of the
    asking message's words that it contains, by weight, and `cosine` that of its window. `is_second_hand` is
    true in a reply whose prompt quoted past conversations.
    """

    conversation: Hashable
    seq: int
    length: int
    is_user: bool
    is_question: bool
    has_digit: bool
    coverage: float
    cosine: float
    is_second_hand: bool = False


def build_inputs(sentences: Sequence[Evidence]) -> Matrix:
    """Return what the scores are computed from, for all sentences found for one message.

    The result is float32, a row for each sentence and a column for each weight of WEIGHTS.
    """
    words = np.array([s.coverage for s in sentences])
    cosines = np.array([max(0.0, s.cosine) for s in sentences])
    words_share, cosine_share = _divide(words), _divide(cosines)
    chats = [s.conversation for s in sentences]
    places = [(s.conversation, s.seq) for s in sentences]
    best = _find_best(places, cosine_share)
    columns = {
        "words": words,
        "words_share": words_share,
        "cosine": cosines,
        "cosine_share": cosine_share,
        "before": [best.get((chat, seq - 1), 0.0) for chat, seq in places],
        "two_before": [best.get((chat, seq - 2), 0.0) for chat, seq in places],
        "chat_words": list(map(_find_best(chats, words_share).__getitem__, chats)),
        "chat_cosine": list(map(_find_best(chats, cosine_share).__getitem__, chats)),
        "is_user": [s.is_user for s in sentences],
        "is_question": [s.is_question for s in sentences],
        "length": np.log([s.length for s in sentences]),
        "is_first": [s.seq <= 1 for s in sentences],
        "has_digit": [s.has_digit for s in sentences],
        "is_second_hand": [s.is_second_hand for s in sentences],
    }
    return np.array([columns[name] for name in WEIGHTS], dtype=np.float32).T


def score_sentences(inputs: Matrix) -> Matrix:
    """Return the score of each row of `build_inputs`.

    Scores of different messages cannot be compared.
    """
    return np.asarray(inputs @ np.array(list(WEIGHTS.values()), dtype=np.float32))


def _divide(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values divided by the largest, zeros where none is above 0."""
    largest = values.max(initial=0.0)
    return values / largest if largest > 0 else np.zeros_like(values)


def _find_best(groups: Sequence[Hashable], values: NDArray[np.float64]) -> dict[Hashable, float]:
    """Return the largest value of each group."""
    best: dict[Hashable, float] = {}
    for group, value in zip(groups, values.tolist(), strict=True):
        best[group] = max(best.get(group, 0.0), value)
    return best
