"""Judges whether a candidate will still matter in a month.

A linear classifier reads the vectors of the candidate and of the user's sentence behind it. Its weights come
from `tests/benchmarks/train_durability.py`, one file an embedder.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chat.models import Durability

from .trained_weights import read_weights

FOLDER = Path(__file__).parent / "durability_weights"


@dataclass(frozen=True, slots=True)
class Classifier:
    """The weights of one embedder.

    `text` and `quote` are float32 of shape (dimensions,). Scores are log-odds: from `lasting_from` on a
    candidate is lasting, below `doubtful_from` passing.
    """

    text: NDArray[np.float32]
    quote: NDArray[np.float32]
    bias: float
    lasting_from: float
    doubtful_from: float

    def score(self, text: NDArray[np.float32], quote: NDArray[np.float32]) -> float:
        """Return the log-odds that a candidate matters in a month, from the unit vectors of its texts."""
        return float(self.text @ text + self.quote @ quote) + self.bias


@cache
def load_classifier(embedder: str) -> Classifier | None:
    """Return the classifier for an embedder, None where it was not trained for it."""
    stored = read_weights(FOLDER, embedder)
    if stored is None:
        return None
    return Classifier(
        np.array(stored["text"], dtype=np.float32),
        np.array(stored["quote"], dtype=np.float32),
        stored["bias"],
        stored["lasting_from"],
        stored["doubtful_from"],
    )


def judge_durability(text: NDArray[np.float32], quote: NDArray[np.float32], embedder: str) -> Durability:
    """Return how long a candidate will matter, from the unit vectors of its text and of its quote.

    Without a classifier for the embedder every candidate is lasting.
    """
    classifier = load_classifier(embedder)
    if classifier is None:
        return Durability.LASTING
    score = classifier.score(text, quote)
    if score >= classifier.lasting_from:
        return Durability.LASTING
    return Durability.DOUBTFUL if score >= classifier.doubtful_from else Durability.PASSING
