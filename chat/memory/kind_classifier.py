"""Chooses the kind of a fact by a linear classifier over the vector of its text.

The weights come from `tests/benchmarks/train_kinds.py`: for each embedder one file for notes ("User is a
nurse"), and one for facts in the user's own words, which say more besides.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chat.llm.embedder import Embedder

from .formatting import extract_own_words
from .kinds import KINDS
from .trained_weights import AnswerCache, compute_softmax, read_weights

FOLDER = Path(__file__).parent / "kind_weights"
OWN_WORDS_FOLDER = FOLDER / "own_words"
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

    A kind with one value needs `MIN_SINGLE_PROBABILITY`, or else the next one is taken; a fact in the user's
    own words, which may say other things too, never has one. Embeds the text, unless the same one was
    classified lately.
    """
    own_words = extract_own_words(text)
    weights = load_weights(embedder.name, own_words=bool(own_words)) if embedder is not None else None
    if embedder is None or weights is None:
        return ""
    choose = choose_kind_of_own_words if own_words else choose_kind
    return _kinds.find(embedder.name, text, lambda: choose(embedder.embed([own_words or text])[0], weights))


def choose_kind(vector: NDArray[np.float32], weights: Weights) -> str:
    """Return the most likely kind by the unit vector of a note, as `classify_kind` does."""
    probabilities = compute_softmax(vector @ weights.matrix + weights.bias)
    ranked: list[str] = [weights.kinds[index] for index in np.argsort(-probabilities)]
    is_sure = bool(probabilities.max() >= MIN_SINGLE_PROBABILITY)
    return next(kind for kind in ranked if is_sure or not KINDS[kind].single)


def choose_kind_of_own_words(vector: NDArray[np.float32], weights: Weights) -> str:
    """Return the most likely kind within the most likely category by the unit vector of a sentence."""
    probabilities = dict(
        zip(weights.kinds, compute_softmax(vector @ weights.matrix + weights.bias), strict=True)
    )
    categories: Counter[str] = Counter()
    for kind, probability in probabilities.items():
        categories[KINDS[kind].category] += probability
    category = categories.most_common(1)[0][0]
    fitting = [kind for kind in weights.kinds if KINDS[kind].category == category and not KINDS[kind].single]
    return max(fitting, key=probabilities.__getitem__)


@cache
def load_weights(embedder_name: str, *, own_words: bool = False) -> Weights | None:
    """Return the weights for an embedder, None where there are none."""
    stored = read_weights(OWN_WORDS_FOLDER if own_words else FOLDER, embedder_name)
    if stored is None:
        return None
    matrix, bias = (np.array(stored[name], dtype=np.float32) for name in ("matrix", "bias"))
    return Weights(tuple(stored["kinds"]), matrix, bias)


_kinds = AnswerCache(unknown="")
