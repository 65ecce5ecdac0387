"""Prefixes of conversations that are not being written: in memory, out of the context (design §4).

Attention runs over every used cell of a context, whoever's it is. Beside nine idle conversations of some 600
tokens a reply was written 10 % slower (measured), so only the one that is being written keeps its cells.
Bookkeeping only, no llama.cpp.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .slots import common_prefix


@dataclass(frozen=True, slots=True)
class Parked:
    """The tokens of a prefix and what the model has made of them."""

    tokens: list[int]
    state: np.ndarray


class ParkingLot:
    """Parked prefixes by name, within a budget in bytes; whoever was parked first leaves first."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._parked: OrderedDict[str, Parked] = OrderedDict()

    def __contains__(self, name: str) -> bool:
        return name in self._parked

    def used(self) -> int:
        """Return the bytes in use."""
        return sum(parked.state.nbytes for parked in self._parked.values())

    def put(self, name: str, parked: Parked) -> None:
        """Park a prefix; one that is larger than the whole budget is not kept."""
        self.forget(name)
        if parked.state.nbytes > self.budget:
            return
        while self.used() + parked.state.nbytes > self.budget:
            self._parked.popitem(last=False)
        self._parked[name] = parked

    def take(self, name: str) -> Parked | None:
        """Return a prefix and give its place up."""
        return self._parked.pop(name, None)

    def forget(self, name: str) -> None:
        """Drop a prefix, where it is parked."""
        self._parked.pop(name, None)

    def best_source(self, tokens: Sequence[int]) -> tuple[Parked | None, int]:
        """Return the prefix that shares the most leading tokens with these, and how many."""
        lengths = [(common_prefix(parked.tokens, tokens), parked) for parked in self._parked.values()]
        length, parked = max(lengths, key=lambda item: item[0], default=(0, None))
        return (parked, length) if length else (None, 0)
