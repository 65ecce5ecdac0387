"""Fits the weights of `chat.memory.pair_classifier`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chat.memory.pair_classifier import Matrix, PairWeights, build_inputs

from .adam import Adam

Project = Callable[[PairWeights, Matrix], Matrix]
_RATES = {"matrix": 0.05, "bias": 0.05, "bilinear": 0.02}


def fit_pairs(
    firsts: Matrix,
    seconds: Matrix,
    classes: NDArray[Any],
    *,
    penalty: float,
    bilinear_penalty: float,
    projected: int = 160,
    steps: int = 150,
    project_first: Project = PairWeights.project,
    project_second: Project = PairWeights.project,
) -> PairWeights:
    """Return the weights of a softmax regression on pairs of unit vectors, trained with the optimiser Adam.

    `classes` holds the number of the class of each pair. The two penalties are on the squares of the linear
    and of the bilinear weights; `projected` is the number of dimensions of the bilinear part, whose columns
    the last two functions make of the weights and the vectors.
    """
    every = np.vstack([firsts, seconds])
    _, axes = np.linalg.eigh(np.cov(every, rowvar=False))
    count = int(classes.max()) + 1
    start = PairWeights(
        np.zeros((3 * every.shape[1] + 1, count), dtype=np.float32),
        np.zeros(count, dtype=np.float32),
        every.mean(axis=0),
        axes[:, ::-1][:, :projected].astype(np.float32),
        np.zeros(0, dtype=np.float32),
    )
    first, second = project_first(start, firsts), project_second(start, seconds)
    bilinear = np.zeros((count, first.shape[1], second.shape[1]), dtype=np.float32)
    weights = replace(start, bilinear=bilinear)
    inputs = build_inputs(firsts, seconds)
    wanted = np.eye(count, dtype=np.float32)[classes]
    trained = {"matrix": weights.matrix, "bias": weights.bias, "bilinear": weights.bilinear}
    optimiser = Adam(trained, _RATES)
    for _ in range(steps):
        wrong = (weights.classify(inputs, first, second) - wanted) / len(wanted)
        slopes = {
            "matrix": inputs.T @ wrong + penalty * weights.matrix,
            "bias": wrong.sum(axis=0),
            "bilinear": np.stack([(first * wrong[:, [place]]).T @ second for place in range(count)])
            + bilinear_penalty * weights.bilinear,
        }
        optimiser.change(slopes)
    return weights


def store_weights(weights: Any, folder: Path, embedder_name: str) -> None:
    """Write the arrays of a dataclass as float16 to the file of the embedder in `folder`."""
    folder.mkdir(exist_ok=True)
    stored = {field.name: getattr(weights, field.name).astype(np.float16) for field in fields(weights)}
    np.savez_compressed(folder / f"{embedder_name}.npz", **stored)
