"""The prefixes that lie in one context: who has which sequence, and what must go when cells run out.

Every method touches the context, so all of it belongs to the engine thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from .native import ABORTED, BATCH, NO_CELLS, Native
from .parking import Parked, ParkingLot
from .slots import AHEAD, Slot, SlotTable, common_prefix
from .types import PromptTooLong, ProviderError

# A shorter prefix is read again faster than it is fetched from another slot.
_WORTH_BORROWING = BATCH // 4


class PrefixCache:
    """One context and the slots in it; with a parking lot only the slot in use keeps its cells."""

    def __init__(self, native: Native, lot: ParkingLot | None = None) -> None:
        self.native = native
        self.table = SlotTable(native.sequences, native.cells)
        self.lot = lot

    def acquire(self, name: str, wanted: list[int]) -> Slot:
        """Return the slot of that name, cut back to what its cache shares with the wanted tokens."""
        slot = self.table.get(name) or self._seat(name)
        self.table.touch(slot)
        self._borrow(slot, wanted)
        if self.lot is not None:
            self._park_others(slot)
        # Logits come only from a decode, so the last token is always read again.
        self._cut(slot, min(common_prefix(slot.tokens, wanted), len(wanted) - 1))
        return slot

    def read_more(self, slot: Slot, wanted: list[int]) -> None:
        """Evaluate the next batch of what the slot lacks; after an abort it has what was really evaluated."""
        have = len(slot.tokens)
        chunk = wanted[have : have + BATCH]
        while self.table.used_cells() + len(chunk) > self.table.cells and self._give_up(slot):
            pass
        status = self.native.decode(chunk, slot.sequence, have)
        if status == 0:
            slot.tokens.extend(chunk)
        elif status == NO_CELLS:
            if self._give_up(slot) is None:
                raise PromptTooLong("This conversation is longer than the model's window.")
        elif status == ABORTED:
            slot.tokens = wanted[: self.native.length(slot.sequence)]
            self.native.set_abort(False)

    def forget(self, name: str, keep: Sequence[int] = ()) -> None:
        """Drop a slot's prefix, in the context and parked, but for what it shares with `keep`."""
        if self.lot is not None:
            self.lot.forget(name)
        slot = self.table.get(name)
        if slot is not None:
            self._cut(slot, common_prefix(slot.tokens, keep))
            if not slot.tokens:
                slot.name = None

    def _seat(self, name: str) -> Slot:
        parked = self.lot.take(name) if self.lot is not None else None
        if parked is not None:
            # First out, then in: the freed cells are the lowest, and attention runs up to the highest used.
            self._park_others(None)
        slot = self.table.free_slot() or self._give_up(None)
        if slot is None:
            raise ProviderError("The model's engine has no seat left.")
        slot.name = name
        if parked is not None:
            self._restore(slot, parked)
        return slot

    def _borrow(self, slot: Slot, wanted: list[int]) -> None:
        """Let the slot begin with another's prefix, where that saves more than its own does."""
        shared = common_prefix(slot.tokens, wanted)
        source, longer = self.table.best_source(wanted, slot)
        if source is not None and longer > shared + _WORTH_BORROWING:
            self._cut(slot, 0)
            self.native.copy_prefix(source.sequence, slot.sequence, longer)
            slot.tokens = wanted[:longer]
            shared = longer
            if source.name == f"{slot.name}{AHEAD}":
                # Parking it would copy 100 MB that nobody needs any more, while somebody waits.
                self._cut(source, 0)
                source.name = None
        parked, longer = self.lot.best_source(wanted) if self.lot is not None else (None, 0)
        if parked is not None and longer > shared + _WORTH_BORROWING:
            self._cut(slot, 0)
            self._park_others(slot)
            self._restore(slot, parked)
            if self.lot is not None:
                self.lot.forget_if(f"{slot.name}{AHEAD}", parked)

    def _park_others(self, spare: Slot | None) -> None:
        while self._give_up(spare):
            pass

    def _restore(self, slot: Slot, parked: Parked) -> None:
        # Where llama.cpp refuses a state, the slot stays empty and the prompt is read again.
        slot.tokens = list(parked.tokens) if self.native.restore(slot.sequence, parked.state) else []

    def _give_up(self, spare: Slot | None) -> Slot | None:
        victim = self.table.victim(spare)
        if victim is not None:
            if self.lot is not None and victim.name is not None and victim.tokens:
                self.lot.put(victim.name, Parked(list(victim.tokens), self.native.save(victim.sequence)))
            self._cut(victim, 0)
            victim.name = None
        return victim

    def _cut(self, slot: Slot, length: int) -> None:
        if len(slot.tokens) > length:
            if not self.native.truncate(slot.sequence, length):
                # Recurrent models cannot forget in part: they start again.
                self.native.truncate(slot.sequence, 0)
                length = 0
            del slot.tokens[length:]
