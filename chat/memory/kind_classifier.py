"""Chooses the kind of a fact by a linear classifier over the vector of its text.

The weights come from `tests/benchmarks/train_kinds.py`, one file an embedder.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chat.llm.embedder import Embedder

from .kinds import KINDS
from .trained_weights import AnswerCache, read_weights

FOLDER = Path(__file__).parent / "kind_weights"
# A kind with one value replaces the value before, so the classifier must be sure of it.
MIN_SINGLE_PROBABILITY = 0.5


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one embedder: `matrix` is float32 of shape (dimensions, kinds), `bias` (kinds,)."""

    kinds: tuple[str, ...]
    matrix: NDArray[np.float32]
    bias: NDArray[np.float32]


def classify_kind(text: str, embedder: Embedder | None) -> str:
    """Return the most likely kind of a fact; "" without an embedder, its files or weights for it.

    A kind with one value needs `MIN_SINGLE_PROBABILITY`, or else the next one is taken. Embeds the text,
    unless the same one was classified lately.
    """
    weights = load_weights(embedder.name) if embedder is not None else None
    if embedder is None or weights is None:
        return ""
    return _kinds.find(embedder.name, text, lambda: choose_kind(embedder.embed([text])[0], weights))


def choose_kind(vector: NDArray[np.float32], weights: Weights) -> str:
    """Return the most likely kind by the unit vector of a fact, as `classify_kind` does."""
    scores = vector @ weights.matrix + weights.bias
    powers = np.exp(scores - scores.max())
    probabilities = powers / powers.sum()
    ranked: list[str] = [weights.kinds[index] for index in np.argsort(-probabilities)]
    is_sure = bool(probabilities.max() >= MIN_SINGLE_PROBABILITY)
    return next(kind for kind in ranked if is_sure or not KINDS[kind].single)


@cache
def load_weights(embedder_name: str) -> Weights | None:
    """Return the weights for an embedder, None where there are none."""
    stored = read_weights(FOLDER, embedder_name)
    if stored is None:
        return None
    matrix, bias = (np.array(stored[name], dtype=np.float32) for name in ("matrix", "bias"))
    return Weights(tuple(stored["kinds"]), matrix, bias)


_kinds = AnswerCache(unknown="")
