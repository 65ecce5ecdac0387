"""Which conversation's prefix lies in which sequence of the context: pure bookkeeping.

Names and numbers only, no llama.cpp: the engine applies what this table decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

# What is read in advance for a slot lies in another of its name and this; it goes once the slot has taken it.
AHEAD = ":next"


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many leading tokens two lists share."""
    low, high = 0, min(len(a), len(b))
    # Slices compare in C; halving keeps a 3,000-token comparison in microseconds.
    if a[:high] == b[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(slots=True)
class Slot:
    """One sequence: the tokens that are really in its cache, in order."""

    sequence: int
    name: str | None = None
    tokens: list[int] = field(default_factory=list)
    last_used: int = 0


class SlotTable:
    """Slots by name; the least recently used one makes room (design §4)."""

    def __init__(self, sequences: int, cells: int) -> None:
        self.cells = cells
        self._slots = [Slot(i) for i in range(sequences)]
        self._clock = 0

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._slots)

    def get(self, name: str) -> Slot | None:
        """Return the slot of that name."""
        return next((slot for slot in self._slots if slot.name == name), None)

    def touch(self, slot: Slot) -> None:
        """Mark a slot as the most recently used."""
        self._clock += 1
        slot.last_used = self._clock

    def used_cells(self) -> int:
        """Return the cells in use; shared prefixes count twice, which errs on the safe side."""
        return sum(len(slot.tokens) for slot in self._slots)

    def free_slot(self) -> Slot | None:
        """Return a slot that nobody has a name on."""
        return next((slot for slot in self._slots if slot.name is None), None)

    def victim(self, spare: Slot | None) -> Slot | None:
        """Return the slot to give up next, never `spare`."""
        candidates = [s for s in self._slots if s is not spare and s.name is not None]
        return min(candidates, key=lambda s: s.last_used, default=None)

    def best_source(self, tokens: Sequence[int], spare: Slot) -> tuple[Slot | None, int]:
        """Return the other slot that shares the longest prefix with these tokens, and its length."""
        best, length = None, 0
        for slot in self._slots:
            if slot is not spare and slot.tokens and (n := common_prefix(slot.tokens, tokens)) > length:
                best, length = slot, n
        return best, length
