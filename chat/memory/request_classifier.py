"""Decides by linear classifiers what a sentence asks of memory: nothing, or one of the requests.

For a suspect the inputs are the embedder's vectors of the sentence and of the words around its trigger, and
the features of `request_features`; for other sentences the vector alone. The weights come from
`tests/benchmarks/train_requests.py`, one file an embedder.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chat.llm.embedder import Embedder

from .request_features import Suspect, measure
from .trained_weights import AnswerCache, compute_softmax, read_weights

FOLDER = Path(__file__).parent / "request_weights"
NONE = "none"
# The order of the columns of the weights; the others are values of `RequestKind`.
KINDS = (NONE, "remember", "forget", "wrong", "keep-out")
# The numbers of a vector of unit length are small beside the features, so they are multiplied by this.
_VECTOR_SCALE = 4.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Weights:
    """A trained classifier. `matrix` has a column for each kind; its last row is the bias.

    `threshold` is the least probability of a request. With a probability of `veto` that it is none, a
    sentence is none, whatever its wording. `sentences` and `sentence_threshold` are for the vector alone.
    """

    matrix: NDArray[np.float32]
    threshold: float
    veto: float
    sentences: NDArray[np.float32] | None = None
    sentence_threshold: float = 1.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a suspect is: one of KINDS; `is_surely_none` if its wording must not be taken for a request."""

    kind: str = NONE
    is_surely_none: bool = False


def classify_suspect(suspect: Suspect, embedder: Embedder | None) -> Judgement:
    """Return what a suspect is; NONE without an embedder, its files or weights for it, or in doubt.

    Embeds two short texts, unless the same sentence was classified lately.
    """
    weights = load_weights(embedder.name) if embedder is not None else None
    if embedder is None or weights is None:
        return Judgement()
    return _judgements.find(embedder.name, suspect.text, lambda: _classify(suspect, embedder, weights))


def classify_sentence(sentence: str, embedder: Embedder | None) -> str:
    """Return what a sentence asks by its vector alone, one of KINDS; NONE as for `classify_suspect`.

    Embeds the sentence, unless the same one was classified lately.
    """
    weights = load_weights(embedder.name) if embedder is not None else None
    if embedder is None or weights is None or weights.sentences is None:
        return NONE
    matrix, threshold = weights.sentences, weights.sentence_threshold
    return _kinds.find(
        embedder.name,
        sentence,
        lambda: choose_kind(compute_probabilities(embedder.embed([sentence]), matrix)[0], threshold),
    )


def build_inputs(suspects: Sequence[Suspect], embedder: Embedder) -> NDArray[np.float32]:
    """Return the inputs of the classifier, one row a suspect."""
    texts = [text for suspect in suspects for text in (suspect.text, suspect.window)]
    vectors = np.asarray(embedder.embed(texts)).reshape(len(suspects), -1) * _VECTOR_SCALE
    features = np.array([measure(suspect) for suspect in suspects], dtype=np.float32)
    return np.concatenate([vectors, features], axis=1)


def compute_probabilities(inputs: NDArray[np.float32], matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the probability of each kind (columns) for each row of inputs."""
    return compute_softmax(inputs @ matrix[:-1] + matrix[-1])


@cache
def load_weights(embedder_name: str) -> Weights | None:
    """Return the weights for an embedder, None where there are none."""
    stored = read_weights(FOLDER, embedder_name)
    if stored is None:
        return None
    fitted = Weights(np.array(stored["matrix"], dtype=np.float32), stored["threshold"], stored["veto"])
    if "sentences" not in stored:
        return fitted
    alone = stored["sentences"]
    return replace(
        fitted,
        sentences=np.array(alone["matrix"], dtype=np.float32),
        sentence_threshold=alone["threshold"],
    )


def choose_kind(probabilities: NDArray[np.float32], threshold: float) -> str:
    """Return the most likely kind if it is a request with at least the threshold's probability, else NONE."""
    best = int(probabilities.argmax())
    return KINDS[best] if probabilities[best] >= threshold else NONE


_judgements = AnswerCache(unknown=Judgement())
_kinds = AnswerCache(unknown=NONE)


def _classify(suspect: Suspect, embedder: Embedder, weights: Weights) -> Judgement:
    inputs = build_inputs([suspect], embedder)
    if inputs.shape[1] + 1 != weights.matrix.shape[0]:
        logger.warning("the weights for requests were trained with other inputs and are not used")
        return Judgement()
    [probabilities] = compute_probabilities(inputs, weights.matrix)
    kind = choose_kind(probabilities, weights.threshold)
    return Judgement(kind, bool(probabilities[KINDS.index(NONE)] >= weights.veto))
