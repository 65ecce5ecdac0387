"""Estimates whether a sentence states something about the user that is worth knowing in a month.

A linear classifier reads the vector of the sentence. Its weights come from
`tests/benchmarks/train_statements.py`, one file an embedder.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chat.llm.embedder import Embedder

from .trained_weights import AnswerCache, read_weights

FOLDER = Path(__file__).parent / "statement_weights"


class Likelihood(StrEnum):
    """How likely a sentence is to state a fact about the user."""

    LIKELY = "likely"
    UNCLEAR = "unclear"
    UNLIKELY = "unlikely"


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one embedder: `vector` is float32 of shape (dimensions,).

    Scores are log-odds: from `likely_from` on a sentence is likely to state a fact, below `unclear_from` it
    is unlikely to.
    """

    vector: NDArray[np.float32]
    bias: float
    likely_from: float
    unclear_from: float


def estimate_likelihood(sentence: str, embedder: Embedder | None) -> Likelihood:
    """Return how likely a sentence is to state a fact.

    UNCLEAR without an embedder, its files or weights for it.
    """
    weights = load_weights(embedder.name) if embedder is not None else None
    score = score_statement(sentence, embedder)
    if weights is None or score is None:
        return Likelihood.UNCLEAR
    if score >= weights.likely_from:
        return Likelihood.LIKELY
    return Likelihood.UNCLEAR if score >= weights.unclear_from else Likelihood.UNLIKELY


def score_statement(sentence: str, embedder: Embedder | None) -> float | None:
    """Return the classifier's score of a sentence: the log-odds that it states a fact about the user.

    None without an embedder, its files or weights for it. Embeds the sentence, unless the same one was
    scored lately.
    """
    weights = load_weights(embedder.name) if embedder is not None else None
    if embedder is None or weights is None:
        return None
    return _scores.find(
        embedder.name,
        sentence,
        lambda: float(embedder.embed([sentence])[0] @ weights.vector) + weights.bias,
    )


@cache
def load_weights(embedder_name: str) -> Weights | None:
    """Return the weights for an embedder, None where there are none."""
    stored = read_weights(FOLDER, embedder_name)
    if stored is None:
        return None
    vector = np.array(stored["vector"], dtype=np.float32)
    return Weights(vector, stored["bias"], stored["likely_from"], stored["unclear_from"])


_scores: AnswerCache[float | None] = AnswerCache(unknown=None)
