"""Estimates whether a message needs a fact: whether an answer is better or different because of it.

A `pair_classifier` of the message and the fact, which also knows the fact's kind: "a birthday dinner" needs
"is vegan" although the two share no word, and "Will it rain tomorrow?" needs the home. Its weights come from
`tests/benchmarks/train_relevance.py`, one file an embedder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .kinds import KINDS
from .pair_classifier import Matrix, PairWeights, build_inputs, load_pair_weights

FOLDER = Path(__file__).parent / "relevance_weights"
# What a fact is to a message, in the order of the columns of the weights.
CLASSES = NEEDLESS, NEEDED = range(2)
# The columns of the kinds are as large as those of the vectors.
_KIND_SCALE = 5.0
_PLACES = {kind: place for place, kind in enumerate(KINDS)}


def estimate_needed(
    message: Matrix, facts: Matrix, kinds: Sequence[str], embedder_name: str
) -> Matrix | None:
    """Return the probability that a message needs each fact, float32 of shape (facts,).

    `message` is a unit vector of shape (dimensions,), `facts` are unit vectors of shape (facts, dimensions),
    `kinds` their kinds. None without weights for the embedder.
    """
    weights = load_pair_weights(FOLDER, embedder_name)
    if weights is None or not len(facts):
        return None
    inputs = build_inputs(np.broadcast_to(message, facts.shape), facts)
    message = project_messages(weights, message[None, :])
    return np.asarray(weights.classify(inputs, message, project_facts(weights, facts, kinds))[:, NEEDED])


def project_messages(weights: PairWeights, vectors: Matrix) -> Matrix:
    """Return the columns of messages for the bilinear scores; a constant lets each kind have a bias."""
    return weights.project(vectors, np.ones((len(vectors), 1), dtype=np.float32))


def project_facts(weights: PairWeights, vectors: Matrix, kinds: Sequence[str]) -> Matrix:
    """Return the columns of facts for the bilinear scores; the last ones tell the kind."""
    places = [_PLACES[kind] for kind in kinds]
    return weights.project(vectors, np.eye(len(_PLACES), dtype=np.float32)[places] * _KIND_SCALE)
