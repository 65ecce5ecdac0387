"""Estimates what a message needs of past conversations, by a linear classifier over its vector.

Its weights come from `tests/benchmarks/train_needs.py`, one file an embedder.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chat.memory.trained_weights import read_weights

FOLDER = Path(__file__).parent / "need_weights"
# No sentence adds more to the log-odds in practice. Of the messages of `tuning_messages.jsonl` 72 % of the
# ordinary ones are not searched for, and no decision changes.
MOST_ADDED = 3.5
# The least log-odds of a follow-up. In cross-validation over `follow_ups.jsonl` it finds 96 % of them and
# takes 13 % of the other messages for one; only messages after one with quotations are asked.
_LEAST_FOLLOW = -0.5


class Need(StrEnum):
    """What a message needs of past conversations.

    ASKS: the answer stands in them. TOUCHES: the reply would be better with what they say. NOTHING: neither.
    """

    ASKS = "asks"
    TOUCHES = "touches"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one embedder. Both vectors are float32 of shape (dimensions,).

    With `needs` and `needs_bias` a message's vector gives the log-odds that it needs past conversations, with
    `asks` and `asks_bias` the log-odds that its need is ASKS and not TOUCHES. The first are raised by
    `coverage` and `cosine`, times the largest coverage and cosine of the sentences found. A message needs
    past conversations if the sum is at least `least`. With `follows` and `follows_bias` the vector of a
    message after one with quotations gives the log-odds that it asks for more of the same.
    """

    needs: NDArray[np.float32]
    needs_bias: float
    asks: NDArray[np.float32]
    asks_bias: float
    coverage: float
    cosine: float
    least: float
    follows: NDArray[np.float32]
    follows_bias: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """The log-odds of one message; see `Weights`."""

    needs: float
    asks: float


def estimate_need(vector: NDArray[np.float32], weights: Weights) -> Estimate:
    """Return what a message with this vector seems to need, before past conversations are searched."""
    return Estimate(
        float(vector @ weights.needs) + weights.needs_bias, float(vector @ weights.asks) + weights.asks_bias
    )


def decide_need(
    estimate: Estimate, coverage: float, cosine: float, weights: Weights, *, named: bool = False
) -> Need:
    """Return what a message needs, given the best sentences that were found for it.

    `named` is true where one of them has a name of the message that only past conversations can explain.
    """
    if not named and estimate.needs + weights.coverage * coverage + weights.cosine * cosine < weights.least:
        return Need.NOTHING
    return Need.ASKS if estimate.asks >= 0 else Need.TOUCHES


def may_need(estimate: Estimate, weights: Weights) -> bool:
    """Return whether any sentence could make a message need past conversations; if not, none is searched."""
    return estimate.needs + MOST_ADDED >= weights.least


def is_follow_up(vector: NDArray[np.float32], weights: Weights) -> bool:
    """Return whether a message asks for more of what was just quoted; its vector is that of its own words."""
    return float(vector @ weights.follows) + weights.follows_bias >= _LEAST_FOLLOW


@cache
def load_weights(embedder_name: str) -> Weights | None:
    """Return the weights for an embedder, None where there are none."""
    stored = read_weights(FOLDER, embedder_name)
    if stored is None:
        return None
    needs, asks, follows = (np.array(stored[name], dtype=np.float32) for name in ("needs", "asks", "follows"))
    return Weights(
        needs,
        stored["needs_bias"],
        asks,
        stored["asks_bias"],
        stored["coverage"],
        stored["cosine"],
        stored["least"],
        follows,
        stored["follows_bias"],
    )
