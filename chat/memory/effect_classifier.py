"""Estimates whether a sentence changes a stored fact: replaces its value, or says that it is over.

A linear classifier reads the vectors of the sentence and of the fact, their products and their cosine. Its
weights come from `tests/benchmarks/train_effects.py`, one file an embedder.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .trained_weights import compute_softmax, read_weights

FOLDER = Path(__file__).parent / "effect_weights"
# What a sentence means for a fact, in the order of the columns of the weights. `OTHER`: the sentence is about
# something else.
REPLACED, ENDED, HOLDS, REPEATED, OTHER = range(5)
# The products and the cosine are small beside the vectors, so they are multiplied by these.
_PRODUCT_SCALE, _COSINE_SCALE = 20.0, 6.0


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one embedder: `matrix` is float32 of shape (3 x dimensions + 1, 5), `bias` (5,)."""

    matrix: NDArray[np.float32]
    bias: NDArray[np.float32]


def build_inputs(sentences: NDArray[np.float32], facts: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the inputs of the classifier for pairs of unit vectors, one row a pair."""
    products = sentences * facts
    cosines = products.sum(axis=1, keepdims=True)
    scaled = (products * _PRODUCT_SCALE, cosines * _COSINE_SCALE)
    return np.hstack([sentences, facts, *scaled]).astype(np.float32)


def estimate_effects(
    sentence: NDArray[np.float32], facts: NDArray[np.float32], embedder_name: str
) -> NDArray[np.float32] | None:
    """Return the probabilities of the five effects of a sentence on each fact, float32 of shape (facts, 5).

    `sentence` is a unit vector of shape (dimensions,), `facts` are unit vectors of shape (facts, dimensions).
    None without weights for the embedder.
    """
    weights = load_weights(embedder_name)
    if weights is None or not len(facts):
        return None
    inputs = build_inputs(np.broadcast_to(sentence, facts.shape), facts)
    return compute_softmax(inputs @ weights.matrix + weights.bias)


@cache
def load_weights(embedder_name: str) -> Weights | None:
    """Return the weights for an embedder, None where there are none."""
    stored = read_weights(FOLDER, embedder_name)
    if stored is None:
        return None
    return Weights(*(np.array(stored[name], dtype=np.float32) for name in ("matrix", "bias")))
