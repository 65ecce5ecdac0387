"""The optimiser Adam, which fits the weights of the classifiers and of the ranking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
# The usual shares of the old mean and of the old square, and what keeps the divisor above 0.
_MEAN, _SQUARE, _LEAST = 0.9, 0.999, 1e-8


class Adam:
    """Changes arrays in place, a step at a time; `rates` are the learning rates by name of the array."""

    def __init__(self, trained: Arrays, rates: Mapping[str, float]) -> None:
        self._trained, self._rates, self._step = trained, rates, 0
        self._mean = {name: np.zeros_like(values) for name, values in trained.items()}
        self._square = {name: np.zeros_like(values) for name, values in trained.items()}

    def change(self, slopes: Arrays) -> None:
        """Take a step against the slopes of the loss."""
        self._step += 1
        for name, slope in slopes.items():
            self._mean[name] = _MEAN * self._mean[name] + (1 - _MEAN) * slope
            self._square[name] = _SQUARE * self._square[name] + (1 - _SQUARE) * slope**2
            mean = self._mean[name] / (1 - _MEAN**self._step)
            square = self._square[name] / (1 - _SQUARE**self._step)
            self._trained[name][...] -= self._rates[name] * mean / (np.sqrt(square) + _LEAST)
