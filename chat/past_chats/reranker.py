"""Sorts the best sentences of a ranking again, by how well the vector of each answers the question.

The bilinear part of the weights learns what answers look like: "how much" asks for a price and "what did I
decide" for a decision, not for words like its own. `tests/benchmarks/train_ranking.py` fits them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

FOLDER = Path(__file__).parent / "reranker_weights"
# Multiplies centred unit vectors, so that the penalty on large weights in the training weighs on all alike.
_SCALE = 4.0


@dataclass(frozen=True, slots=True)
class Weights:
    """The trained weights for the vectors of one embedder; all arrays are float32.

    `linear`, of shape (inputs + 1,), is for the inputs of `scoring` and the cosine of the sentence. From the
    vectors of sentence and question `mean`, (dimensions,), is subtracted, and `projection`, (dimensions,
    projected), maps them to fewer dimensions; there `sentence`, (projected,), scores the sentence by itself
    and `bilinear`, (projected, projected), question and sentence together.
    """

    linear: Matrix
    mean: Matrix
    projection: Matrix
    sentence: Matrix
    bilinear: Matrix

    def project(self, vectors: Matrix) -> Matrix:
        """Return vectors of shape (…, dimensions) centred and in the shape (…, projected)."""
        return np.asarray((vectors - self.mean) @ self.projection * _SCALE)


def score_again(inputs: Matrix, vectors: Matrix, question: Matrix, weights: Weights) -> Matrix:
    """Return scores of sentences, log-odds within one ranking.

    `inputs` are those of `scoring.build_inputs` and `vectors`, (sentences, dimensions), of unit length, the
    embedded sentences; `question` is the vector of the message that asks.
    """
    wanted = weights.sentence + weights.project(question) @ weights.bilinear
    linear = np.hstack([inputs, (vectors @ question)[:, None]]) @ weights.linear
    return np.asarray(linear + weights.project(vectors) @ wanted)


@cache
def load_weights(embedder_name: str) -> Weights | None:
    """Return the weights for an embedder, None where there are none."""
    path = FOLDER / f"{embedder_name}.npz"
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as stored:
        return Weights(**{field.name: stored[field.name].astype(np.float32) for field in fields(Weights)})
