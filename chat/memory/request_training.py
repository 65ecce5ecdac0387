"""Trains the classifier of requests: softmax regression with a quadratic penalty, by full gradients."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .request_classifier import KINDS, NONE, compute_probabilities

_STEPS = 400
_RATE = 0.02
_FOLDS = 5


def fit(inputs: NDArray[np.float32], labels: NDArray[np.int64], penalty: float) -> NDArray[np.float32]:
    """Return the weights (inputs + 1 rows, kinds as columns); each kind counts the same, however frequent."""
    rows = np.concatenate([inputs, np.ones((len(inputs), 1), dtype=np.float32)], axis=1)
    wanted = np.eye(len(KINDS), dtype=np.float32)[labels]
    counts = np.bincount(labels, minlength=len(KINDS))
    share = (len(labels) / (len(KINDS) * np.maximum(counts, 1)))[labels][:, None] ** 0.5
    matrix = np.zeros((rows.shape[1], len(KINDS)), dtype=np.float32)
    mean, square = np.zeros_like(matrix), np.zeros_like(matrix)
    for step in range(1, _STEPS + 1):
        error = (compute_probabilities(inputs, matrix) - wanted) * share
        slope = rows.T @ error / len(rows)
        slope[:-1] += penalty * matrix[:-1]
        # Adam
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope**2
        matrix -= _RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return matrix.astype(np.float32)


def cross_validate(
    inputs: NDArray[np.float32], labels: NDArray[np.int64], penalty: float
) -> NDArray[np.float32]:
    """Return the probabilities of each row by weights that were trained without it."""
    fold = np.random.default_rng(0).permutation(len(labels)) % _FOLDS
    found = np.zeros((len(labels), len(KINDS)), dtype=np.float32)
    for number in range(_FOLDS):
        held = fold == number
        matrix = fit(inputs[~held], labels[~held], penalty)
        found[held] = compute_probabilities(inputs[held], matrix)
    return found


def choose_threshold(probabilities: NDArray[np.float32], labels: NDArray[np.int64]) -> tuple[float, float]:
    """Return the least probability of a request with which the errors cost least, and the share of right rows.

    A request that is none costs twice as much as another error: it may delete something.
    """
    none = KINDS.index(NONE)
    best, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
    candidates = [round(float(least), 2) for least in np.arange(0.3, 0.9, 0.02)]
    chosen = [np.where(sure >= least, best, none) for least in candidates]
    costs = [int((kinds != labels).sum() + ((labels == none) & (kinds != none)).sum()) for kinds in chosen]
    # In the middle of the best ones, so that it does not depend on single sentences.
    cheapest = [index for index, cost in enumerate(costs) if cost == min(costs)]
    index = cheapest[len(cheapest) // 2]
    return candidates[index], float((chosen[index] == labels).mean())
