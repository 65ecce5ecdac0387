"""Which slot of a llama-server a call uses, so that no prompt continues another owner's cached prefix."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(slots=True)
class _Slot:
    """One slot: the conversation that it belongs to, and whose words it holds."""

    number: int
    name: str | None = None
    owner: str | None = None
    last_used: int = 0


@dataclass(frozen=True, slots=True)
class SlotUse:
    """The slot of one call; None where the server chooses. Without `may_reuse` its prefix is another owner's.

    Return it with `SlotPool.give_back`.
    """

    number: int | None
    may_reuse: bool


class SlotPool:
    """Assigns llama-server's slots, so that no prompt overwrites another conversation's cached prefix.

    Background prompts share the last slot; conversations get the others, the least recently used one first.
    With several owners a call gets a slot that no other call uses, where there is one: then the order of the
    calls on a slot is known, and so is whose prefix is in it.
    """

    def __init__(self, *, several_owners: bool = False) -> None:
        self._lock = threading.Lock()
        self._several_owners = several_owners
        self._slots: list[_Slot] = []
        # How many calls use the slot of a number. It outlives `reset`, as the calls do.
        self._calls: Counter[int] = Counter()
        self._uses = 0

    @property
    def count(self) -> int:
        """Return how many slots the server has."""
        return len(self._slots)

    def reset(self, count: int) -> None:
        """Forget what the slots hold; the server has `count` of them now. Calls may still run on them."""
        with self._lock:
            self._slots = [_Slot(number) for number in range(count)]

    def take(self, name: str, owner: str, *, background: bool) -> SlotUse:
        """Return the slot for a conversation's or a background prompt of this owner."""
        with self._lock:
            if not self._slots or (len(self._slots) < 2 and not self._several_owners):
                return SlotUse(None, may_reuse=True)
            slot = self._slots[-1] if background else self._find_for_conversation(name)
            if self._calls[slot.number] and self._several_owners:
                unused = [one for one in self._slots if not self._calls[one.number]]
                slot = min(unused, key=lambda one: one.last_used, default=slot)
            is_used = self._calls[slot.number] > 0
            may_reuse = not self._several_owners or (slot.owner == owner and not is_used)
            if not background:
                slot.name = name
            # With two calls at once it is unknown whose prefix remains.
            slot.owner = None if is_used else owner
            self._calls[slot.number] += 1
            self._uses += 1
            slot.last_used = self._uses
            return SlotUse(slot.number, may_reuse)

    def give_back(self, use: SlotUse) -> None:
        """Note that the call has ended."""
        with self._lock:
            if use.number is not None:
                self._calls[use.number] -= 1

    def forget(self, names: Collection[str] | None) -> None:
        """Free the slots of these conversations, None for all."""
        with self._lock:
            for slot in self._slots:
                if names is None or slot.name in names:
                    slot.name = None

    def _find_for_conversation(self, name: str) -> _Slot:
        usable = self._slots[:-1] or self._slots
        own = next((slot for slot in self._slots if slot.name == name), None)
        free = next((slot for slot in usable if slot.name is None), None)
        return own or free or min(usable, key=lambda slot: slot.last_used)
