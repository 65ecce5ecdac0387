"""Prefixes of conversations that are not being written: in memory, out of the context (design §4).

Attention runs over every used cell of a context, whoever's it is. Beside nine idle conversations of some 600
tokens a reply was written 10 % slower (measured), so only the one that is being written keeps its cells.
Bookkeeping only, no llama.cpp.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .garage import Garage
from .slots import common_prefix


@dataclass(frozen=True, slots=True)
class Parked:
    """The tokens of a prefix and what the model has made of them."""

    tokens: list[int]
    state: np.ndarray


class ParkingLot:
    """Parked prefixes by name: in memory within a budget in bytes, and beyond it in the garage.

    Whoever was parked first is moved out first, at the next `settle`: the engine calls it while nobody waits,
    since writing a file takes a tenth of a second.
    """

    def __init__(self, budget: int, garage: Garage | None = None) -> None:
        self.budget = budget
        self._garage = garage or Garage(None, 0)
        self._parked: OrderedDict[str, Parked] = OrderedDict()

    def __contains__(self, name: str) -> bool:
        return name in self._parked or name in self._garage

    def used(self) -> int:
        """Return the bytes of memory in use."""
        return sum(parked.state.nbytes for parked in self._parked.values())

    def put(self, name: str, parked: Parked) -> None:
        """Park a prefix; memory may be overdrawn until the next `settle`, by no more than once the budget."""
        self.forget(name)
        self._parked[name] = parked
        while self.used() > 2 * self.budget:
            self._move_out()

    def settle(self, give_way: Callable[[], bool] = lambda: False) -> None:
        """Bring memory back within its budget, a prefix at a time, until somebody is to be given way."""
        while self.used() > self.budget and not give_way():
            self._move_out()

    def take(self, name: str) -> Parked | None:
        """Return a prefix and give its place up."""
        parked = self._parked.pop(name, None)
        if parked is not None or name not in self._garage:
            return parked
        tokens = dict(self._garage)[name]
        state = self._garage.take(name)
        return None if state is None else Parked(tokens, state)

    def forget(self, name: str) -> None:
        """Drop a prefix, wherever it is parked."""
        self._parked.pop(name, None)
        self._garage.forget(name)

    def forget_if(self, name: str, parked: Parked) -> None:
        """Drop a prefix where it is this very one."""
        if self._parked.get(name) is parked:
            self.forget(name)

    def best_source(self, tokens: Sequence[int]) -> tuple[Parked | None, int]:
        """Return the prefix that shares the most leading tokens with these, and how many.

        One that lies in a file moves back into memory.
        """
        prefixes = [(name, parked.tokens) for name, parked in self._parked.items()]
        lengths = [(common_prefix(theirs, tokens), name) for name, theirs in (*prefixes, *self._garage)]
        length, best = max(lengths, key=lambda item: item[0], default=(0, ""))
        if not length:
            return None, 0
        if best not in self._parked and (parked := self.take(best)) is not None:
            self._parked[best] = parked
        found = self._parked.get(best)
        return (found, length) if found is not None else (None, 0)

    def close(self) -> None:
        """Drop everything."""
        self._parked.clear()
        self._garage.close()

    def _move_out(self) -> None:
        name, parked = self._parked.popitem(last=False)
        self._garage.put(name, parked.tokens, parked.state)
