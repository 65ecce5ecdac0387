"""What the linear classifiers of memory share: stored weights, the softmax, and a cache of their answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Answer = TypeVar("Answer")

_MOST_CACHED = 4096


def read_weights(folder: Path, embedder_name: str) -> dict[str, Any] | None:
    """Return the content of the weights file for an embedder; None where there is none."""
    try:
        stored: dict[str, Any] = json.loads((folder / f"{embedder_name}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return stored


def compute_softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the probabilities of the columns for each row of scores, float32 of the same shape."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), dtype=np.float32)


class AnswerCache(Generic[Answer]):
    """Caches the answers of a classifier by embedder and text. Stores hashes of the texts, not the texts."""

    def __init__(self, unknown: Answer) -> None:
        self._unknown = unknown
        self._answers: dict[tuple[str, int], Answer] = {}

    def find(self, embedder_name: str, text: str, decide: Callable[[], Answer]) -> Answer:
        """Return the known answer for a text, else the one that `decide` gives.

        Where `decide` cannot read the embedder's files, because they were deleted while the program runs, the
        answer is `unknown` and is not kept.
        """
        key = (embedder_name, hash(text))
        answer = self._answers.get(key)
        if answer is not None:
            return answer
        try:
            answer = decide()
        except OSError:
            return self._unknown
        if len(self._answers) >= _MOST_CACHED:
            self._answers.clear()
        self._answers[key] = answer
        return answer
