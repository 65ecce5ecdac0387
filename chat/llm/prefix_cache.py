"""The cached prefixes of one llama.cpp context: which slot holds which tokens, and what is evicted for space.

Every method of PrefixCache calls llama.cpp, so all of it belongs to the engine thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chat.errors import PromptTooLong, ProviderError

from .fixed_prompts import FixedPromptStore
from .native import ABORTED, BATCH, NO_CELLS, Native
from .state_cache import SavedState, StateCache, WantedPrefix, common_prefix
from .types import NEXT_PROMPT_SUFFIX

# In tokens. A shorter prefix is evaluated again faster than it is copied from another slot.
_MIN_REUSED = BATCH // 4


@dataclass(slots=True)
class Slot:
    """One sequence of the context, the tokens that its cells hold, in order, and whose words these are."""

    sequence: int
    name: str | None = None
    tokens: list[int] = field(default_factory=list)
    last_used: int = 0
    owner: str = ""


class SlotTable:
    """The slots of a context by name. Bookkeeping only, no llama.cpp; `cells` is the size of the context."""

    def __init__(self, sequences: int, cells: int) -> None:
        self.cells = cells
        self._slots = [Slot(i) for i in range(sequences)]
        self._uses = 0

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._slots)

    def get(self, name: str) -> Slot | None:
        """Return the slot of that name."""
        return next((slot for slot in self._slots if slot.name == name), None)

    def mark_used(self, slot: Slot) -> None:
        """Mark a slot as the most recently used."""
        self._uses += 1
        slot.last_used = self._uses

    def count_used_cells(self) -> int:
        """Return an upper bound of the cells in use: a prefix that two slots share counts twice."""
        return sum(len(slot.tokens) for slot in self._slots)

    def find_free(self) -> Slot | None:
        """Return a slot without a name."""
        return next((slot for slot in self._slots if slot.name is None), None)

    def find_least_used(self, spare: Slot | None) -> Slot | None:
        """Return the least recently used slot other than `spare`."""
        candidates = [s for s in self._slots if s is not spare and s.name is not None]
        return min(candidates, key=lambda s: s.last_used, default=None)

    def find_longest_prefix(self, wanted: WantedPrefix, spare: Slot) -> tuple[Slot | None, int]:
        """Return the slot other than `spare` with the longest prefix that the wanted prompt may use, and its
        length.
        """
        best, length = None, 0
        for slot in self._slots:
            if slot is not spare and slot.tokens:
                usable = wanted.count_usable(slot.tokens, slot.owner)
                if usable > length:
                    best, length = slot, usable
        return best, length


class PrefixCache:
    """One context and its slots. With a state cache, only the slot in use keeps its cells in the context."""

    def __init__(self, native: Native, state_cache: StateCache | None = None) -> None:
        self.native = native
        self.table = SlotTable(native.sequences, native.cells)
        self.state_cache = state_cache
        self._public_prompts: list[Sequence[int]] = []

    def add_public_prompt(self, tokens: Sequence[int]) -> None:
        """Let the prompts of all owners share this beginning, which the program itself wrote."""
        if tokens not in self._public_prompts:
            self._public_prompts.append(tokens)

    def acquire(self, name: str, tokens: list[int], owner: str) -> Slot:
        """Return the slot of that name, truncated to the prefix of the tokens that this owner may use.

        Raises ProviderError without a free slot.
        """
        public = max((common_prefix(prompt, tokens) for prompt in self._public_prompts), default=0)
        wanted = WantedPrefix(tokens, owner, public)
        slot = self.table.get(name) or self._assign_slot(name)
        self.table.mark_used(slot)
        self._truncate(slot, wanted.count_usable(slot.tokens, slot.owner))
        slot.owner = owner
        self._reuse_prefix(slot, wanted)
        if self.state_cache is not None:
            self._evict_others(slot)
        # Only a decode yields logits, so the last token is always evaluated again.
        self._truncate(slot, min(common_prefix(slot.tokens, tokens), len(tokens) - 1))
        return slot

    def restore_fixed(self, slot: Slot, tokens: Sequence[int], store: FixedPromptStore) -> bool:
        """Fill a slot with the stored state of these tokens; return whether there was one."""
        state = store.load(tokens)
        if state is None:
            return False
        self._truncate(slot, 0)
        self._restore(slot, SavedState(list(tokens), state), len(tokens))
        return bool(slot.tokens)

    def evaluate_batch(self, slot: Slot, wanted: list[int]) -> None:
        """Evaluate the next batch of the wanted tokens that the slot lacks; less than a batch after an abort.

        Raises PromptTooLong when the context has no cells left even after all other slots are evicted.
        """
        have = len(slot.tokens)
        chunk = wanted[have : have + BATCH]
        while self.table.count_used_cells() + len(chunk) > self.table.cells and self._evict_slot(slot):
            pass
        status = self.native.decode(chunk, slot.sequence, have)
        if status == 0:
            slot.tokens.extend(chunk)
        elif status == NO_CELLS:
            if self._evict_slot(slot) is None:
                raise PromptTooLong("conversation-too-long")
        elif status == ABORTED:
            slot.tokens = wanted[: self.native.length(slot.sequence)]
            self.native.set_abort(False)

    def list_names(self) -> set[str]:
        """Return the names of all slots with a prefix, in the context or saved."""
        saved = self.state_cache.list_names() if self.state_cache is not None else set()
        return saved | {slot.name for slot in self.table if slot.name is not None}

    def forget(self, name: str, keep: Sequence[int] = ()) -> None:
        """Drop a slot's prefix from the context and its saved state, except what it shares with `keep`."""
        if self.state_cache is not None:
            self.state_cache.forget(name)
        slot = self.table.get(name)
        if slot is not None:
            self._truncate(slot, common_prefix(slot.tokens, keep))
            if not slot.tokens:
                slot.name = None

    def _assign_slot(self, name: str) -> Slot:
        saved = self.state_cache.take(name) if self.state_cache is not None else None
        if saved is not None:
            # Evict before restoring: this frees the lowest cells, and attention runs up to the highest used
            # one.
            self._evict_others(None)
        slot = self.table.find_free() or self._evict_slot(None)
        if slot is None:
            raise ProviderError("engine-without-slot")
        slot.name = name
        if saved is not None:
            self._restore(slot, saved, len(saved.tokens))
            slot.owner = saved.owner
        return slot

    def _reuse_prefix(self, slot: Slot, wanted: WantedPrefix) -> None:
        """Copy the prefix of another slot or saved state, if it is longer than the slot's own."""
        shared = len(slot.tokens)
        source, longer = self.table.find_longest_prefix(wanted, slot)
        if source is not None and longer > shared + _MIN_REUSED:
            self._truncate(slot, 0)
            self.native.copy_prefix(source.sequence, slot.sequence, longer)
            slot.tokens = list(wanted.tokens[:longer])
            shared = longer
            if source.name == f"{slot.name}{NEXT_PROMPT_SUFFIX}":
                # Not needed any more. Saving its state would copy 100 MB while a user waits.
                self._truncate(source, 0)
                source.name = None
        if self.state_cache is None:
            return
        saved, longer = self.state_cache.find_longest_prefix(wanted)
        if saved is not None and longer > shared + _MIN_REUSED:
            self._truncate(slot, 0)
            self._evict_others(slot)
            self._restore(slot, saved, longer)
            self.state_cache.forget_if_same(f"{slot.name}{NEXT_PROMPT_SUFFIX}", saved)

    def _evict_others(self, spare: Slot | None) -> None:
        while self._evict_slot(spare):
            pass

    def _restore(self, slot: Slot, saved: SavedState, length: int) -> None:
        """Fill a slot with the first `length` tokens of a saved state.

        If llama.cpp rejects the state, the slot stays empty and the prompt is evaluated again.
        """
        slot.tokens = list(saved.tokens) if self.native.restore(slot.sequence, saved.state) else []
        self._truncate(slot, length)

    def _evict_slot(self, spare: Slot | None) -> Slot | None:
        """Save and empty the least recently used slot other than `spare`; None when there is none."""
        slot = self.table.find_least_used(spare)
        if slot is not None:
            if self.state_cache is not None and slot.name is not None and slot.tokens:
                saved = SavedState(list(slot.tokens), self.native.save(slot.sequence), slot.owner)
                self.state_cache.put(slot.name, saved)
            self._truncate(slot, 0)
            slot.name = None
        return slot

    def _truncate(self, slot: Slot, length: int) -> None:
        if len(slot.tokens) > length:
            if not self.native.truncate(slot.sequence, length):
                # A recurrent model cannot drop a part of its state, so all of it is dropped.
                self.native.truncate(slot.sequence, 0)
                length = 0
            del slot.tokens[length:]
