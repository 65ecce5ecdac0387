"""Estimates whether a sentence changes a stored fact: replaces its value, or says that it is over.

A classifier reads the vectors of the sentence and of the fact. Its scores are linear in both vectors, their
products and their cosine, and bilinear in the two vectors: "switched to Resolve" replaces "edits in Premiere"
and not "lives in Graz". Its weights come from `tests/benchmarks/train_effects.py`, one file an embedder.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .trained_weights import compute_softmax

FOLDER = Path(__file__).parent / "effect_weights"
# What a sentence means for a fact, in the order of the columns of the weights. `OTHER`: the sentence is about
# something else.
EFFECTS = REPLACED, ENDED, HOLDS, REPEATED, OTHER = range(5)
# The products and the cosine are small beside the vectors, so they are multiplied by these.
_PRODUCT_SCALE, _COSINE_SCALE, _BILINEAR_SCALE = 20.0, 6.0, 20.0
Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Weights:
    """The trained weights for the vectors of one embedder; all arrays are float32.

    `matrix` has the shape (3 x dimensions + 1, 5), `bias` (5,). For the bilinear scores `mean`, of shape
    (dimensions,), is subtracted from the vectors, and `projection`, (dimensions, projected), maps them to
    fewer dimensions; `bilinear` is (5, projected, projected).
    """

    matrix: Matrix
    bias: Matrix
    mean: Matrix
    projection: Matrix
    bilinear: Matrix

    def project(self, vectors: Matrix) -> Matrix:
        """Return unit vectors centred, projected and scaled for the bilinear scores: (rows, projected)."""
        return np.asarray((vectors - self.mean) @ self.projection * _BILINEAR_SCALE**0.5)


def build_inputs(sentences: Matrix, facts: Matrix) -> Matrix:
    """Return the inputs of the linear scores for pairs of unit vectors, one row a pair."""
    products = sentences * facts
    cosines = products.sum(axis=1, keepdims=True)
    scaled = (products * _PRODUCT_SCALE, cosines * _COSINE_SCALE)
    return np.hstack([sentences, facts, *scaled]).astype(np.float32)


def compute_effects(weights: Weights, inputs: Matrix, sentences: Matrix, facts: Matrix) -> Matrix:
    """Return the probability of each effect for each pair of a sentence and a fact: float32, (pairs, 5).

    `inputs` is the result of `build_inputs` for the pairs; `sentences` and `facts` are the
    results of `Weights.project` for the vectors of both.
    """
    scores = inputs @ weights.matrix + weights.bias
    for effect in EFFECTS:
        scores[:, effect] += ((sentences @ weights.bilinear[effect]) * facts).sum(axis=1)
    return compute_softmax(scores)


def estimate_effects(sentence: Matrix, facts: Matrix, embedder_name: str) -> Matrix | None:
    """Return the probabilities of the five effects of a sentence on each fact, float32 of shape (facts, 5).

    `sentence` is a unit vector of shape (dimensions,), `facts` are unit vectors of shape (facts, dimensions).
    None without weights for the embedder.
    """
    weights = load_weights(embedder_name)
    if weights is None or not len(facts):
        return None
    inputs = build_inputs(np.broadcast_to(sentence, facts.shape), facts)
    return compute_effects(weights, inputs, weights.project(sentence[None, :]), weights.project(facts))


@cache
def load_weights(embedder_name: str) -> Weights | None:
    """Return the weights for an embedder, None where there are none."""
    path = FOLDER / f"{embedder_name}.npz"
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as stored:
        return Weights(**{field.name: stored[field.name].astype(np.float32) for field in fields(Weights)})
