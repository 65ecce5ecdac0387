"""Estimates whether a sentence changes a stored fact: replaces its value, or says that it is over.

A `pair_classifier` of the sentence and the fact. Its weights come from `tests/benchmarks/train_effects.py`,
one file an embedder.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .pair_classifier import Matrix, build_inputs, load_pair_weights

FOLDER = Path(__file__).parent / "effect_weights"
# What a sentence means for a fact, in the order of the columns of the weights. `OTHER`: the sentence is about
# something else.
EFFECTS = REPLACED, ENDED, HOLDS, REPEATED, OTHER = range(5)


def estimate_effects(sentence: Matrix, facts: Matrix, embedder_name: str) -> Matrix | None:
    """Return the probabilities of the five effects of a sentence on each fact, float32 of shape (facts, 5).

    `sentence` is a unit vector of shape (dimensions,), `facts` are unit vectors of shape (facts, dimensions).
    None without weights for the embedder.
    """
    weights = load_pair_weights(FOLDER, embedder_name)
    if weights is None or not len(facts):
        return None
    inputs = build_inputs(np.broadcast_to(sentence, facts.shape), facts)
    return weights.classify(inputs, weights.project(sentence[None, :]), weights.project(facts))
