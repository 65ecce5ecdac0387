"""A classifier of pairs of texts by their vectors: what the first text means for the second.

Its scores are linear in both vectors, their products and their cosine, and bilinear in the two vectors. The
bilinear part learns what belongs together: "switched to Resolve" replaces "edits in Premiere" and not "lives
in Graz". `tests/benchmarks/pair_training.py` fits the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .trained_weights import compute_softmax

# The products and the cosine are much smaller numbers than those of the vectors. They are multiplied by these
# factors, so that the penalty on large weights in the training weighs on all inputs alike.
_PRODUCT_SCALE, _COSINE_SCALE, _BILINEAR_SCALE = 20.0, 6.0, 20.0
Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PairWeights:
    """The trained weights for the vectors of one embedder and a number of classes; all arrays are float32.

    `matrix` has the shape (3 x dimensions + 1, classes), `bias` (classes,). For the bilinear scores `mean`,
    of shape (dimensions,), is subtracted from the vectors, and `projection`, (dimensions, projected), maps
    them to fewer dimensions; `bilinear` has the shape (classes, columns of the firsts, columns of the
    seconds), where the columns are those of `project`.
    """

    matrix: Matrix
    bias: Matrix
    mean: Matrix
    projection: Matrix
    bilinear: Matrix

    def project(self, vectors: Matrix, more: Matrix | None = None) -> Matrix:
        """Return unit vectors centred, projected and scaled for the bilinear scores: (rows, columns).

        `more` are columns with what else is known about each text.
        """
        projected = (vectors - self.mean) @ self.projection * _BILINEAR_SCALE**0.5
        return np.asarray(projected if more is None else np.hstack([projected, more]), dtype=np.float32)

    def classify(self, inputs: Matrix, firsts: Matrix, seconds: Matrix) -> Matrix:
        """Return the probability of each class for each pair: float32, (pairs, classes).

        `inputs` is the result of `build_inputs` for the pairs; `firsts` and `seconds` are the results of
        `project` for both texts. One first may be paired with all seconds.
        """
        scores = inputs @ self.matrix + self.bias
        for place, bilinear in enumerate(self.bilinear):
            scores[:, place] += ((firsts @ bilinear) * seconds).sum(axis=1)
        return compute_softmax(scores)


def build_inputs(firsts: Matrix, seconds: Matrix) -> Matrix:
    """Return the inputs of the linear scores for pairs of unit vectors, one row a pair."""
    products = firsts * seconds
    cosines = products.sum(axis=1, keepdims=True)
    scaled = (products * _PRODUCT_SCALE, cosines * _COSINE_SCALE)
    return np.hstack([firsts, seconds, *scaled]).astype(np.float32)


@cache
def load_pair_weights(folder: Path, embedder_name: str) -> PairWeights | None:
    """Return the weights for an embedder, None where there are none."""
    path = folder / f"{embedder_name}.npz"
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as stored:
        names = [field.name for field in fields(PairWeights)]
        return PairWeights(**{name: stored[name].astype(np.float32) for name in names})
