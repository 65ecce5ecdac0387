"""Saved states of prefixes that are not in the llama.cpp context. Used by the engine thread only.

A state is llama.cpp's copy of all cells of one sequence (28 KiB a token with the default model). Attention
runs over every used cell of a context: beside nine idle conversations of about 600 tokens each, a reply was
written 10 % slower (measured). So only the conversation that is being written keeps its cells, and the others
wait in `StateCache`: in memory, and beyond its budget in files that end with the process.
No llama.cpp in this module.
"""

from __future__ import annotations

import logging
import shutil
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from memoryapp.base.encryption import TemporaryCipher

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SavedState:
    """The tokens of a prefix, its state (a flat array of uint8), and whose words it holds."""

    tokens: list[int]
    state: np.ndarray
    owner: str = ""


@dataclass(frozen=True, slots=True)
class WantedPrefix:
    """The prompt that a request needs in the context.

    `owner` is whose words it holds; its first `public` tokens are a beginning that the program itself wrote.
    """

    tokens: Sequence[int]
    owner: str
    public: int

    def count_usable(self, held: Sequence[int], owner: str) -> int:
        """Return how many leading tokens of a cached prefix of this owner the prompt may use.

        Of another owner's prefix it may use the public beginning only. How many tokens the model need not
        read tells whether they are cached, so any more would tell one owner what another one wrote.
        """
        length = common_prefix(held, self.tokens)
        return length if owner == self.owner else min(length, self.public)


class StateCache:
    """Saved states by the name of their slot, within `budget` bytes of memory, and beyond it on disk.

    The oldest states are moved to disk first, when the engine is idle: writing a file takes about 100 ms.
    """

    def __init__(self, budget: int, disk: DiskCache | None = None) -> None:
        self.budget = budget
        self._disk = disk or DiskCache(None, 0)
        self._in_memory: OrderedDict[str, SavedState] = OrderedDict()

    def __contains__(self, name: str) -> bool:
        return name in self._in_memory or name in self._disk

    def list_names(self) -> set[str]:
        """Return the names of all states, in memory and on disk."""
        return {*self._in_memory, *(name for name, _tokens, _owner in self._disk)}

    def used_bytes(self) -> int:
        """Return the bytes of memory in use."""
        return sum(saved.state.nbytes for saved in self._in_memory.values())

    def put(self, name: str, saved: SavedState) -> None:
        """Save a state; until the next `shrink_to_budget` memory may hold up to twice its budget."""
        self.forget(name)
        self._in_memory[name] = saved
        while self.used_bytes() > 2 * self.budget:
            self._move_oldest_to_disk()

    def shrink_to_budget(self, must_stop: Callable[[], bool] = lambda: False) -> None:
        """Move states to disk until memory is within its budget, or until `must_stop` returns True."""
        while self.used_bytes() > self.budget and not must_stop():
            self._move_oldest_to_disk()

    def take(self, name: str) -> SavedState | None:
        """Remove a state and return it; None without one of this name, or where its file cannot be read."""
        saved = self._in_memory.pop(name, None)
        if saved is not None or name not in self._disk:
            return saved
        return self._disk.take(name)

    def forget(self, name: str) -> None:
        """Delete a state from memory and from disk."""
        self._in_memory.pop(name, None)
        self._disk.forget(name)

    def forget_if_same(self, name: str, saved: SavedState) -> None:
        """Delete the state of this name if it is this very object."""
        if self._in_memory.get(name) is saved:
            self.forget(name)

    def find_longest_prefix(self, wanted: WantedPrefix) -> tuple[SavedState | None, int]:
        """Return the state with the most leading tokens that the wanted prompt may use, and how many; (None,
        0) without one.

        A state that is found on disk moves back into memory.
        """
        prefixes = [(name, saved.tokens, saved.owner) for name, saved in self._in_memory.items()]
        lengths = [(wanted.count_usable(held, of), name) for name, held, of in (*prefixes, *self._disk)]
        length, best = max(lengths, key=lambda item: item[0], default=(0, ""))
        if not length:
            return None, 0
        if best not in self._in_memory and (saved := self.take(best)) is not None:
            self._in_memory[best] = saved
        found = self._in_memory.get(best)
        return (found, length) if found is not None else (None, 0)

    def close(self) -> None:
        """Delete all states."""
        self._in_memory.clear()
        self._disk.close()

    def _move_oldest_to_disk(self) -> None:
        name, saved = self._in_memory.popitem(last=False)
        self._disk.put(name, saved)


@dataclass(frozen=True, slots=True)
class StateFile:
    """The tokens of a prefix, whose words it holds, and the file with its state; `size` in bytes."""

    tokens: list[int]
    owner: str
    path: Path
    size: int


class DiskCache:
    """Files with saved states, within `budget` bytes; the oldest file is deleted first.

    A file is written in about 100 ms and read faster, while evaluating 3,000 tokens again takes most of a
    minute. The text of a conversation can be reconstructed from its state. Therefore the folder is readable
    by its owner only (0700), and is emptied when the engine starts and ends. Files are encrypted where there
    is a `cipher`. Without a folder nothing is kept.
    """

    def __init__(self, folder: Path | None, budget: int, cipher: TemporaryCipher | None = None) -> None:
        self.folder = folder if budget > 0 else None
        self.budget = budget
        self._cipher = cipher
        self._files: OrderedDict[str, StateFile] = OrderedDict()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def __iter__(self) -> Iterator[tuple[str, list[int], str]]:
        """Yield the names with their tokens and owners."""
        return iter([(name, file.tokens, file.owner) for name, file in self._files.items()])

    def used_bytes(self) -> int:
        """Return the bytes in use."""
        return sum(file.size for file in self._files.values())

    def put(self, name: str, saved: SavedState) -> None:
        """Write a state to its file; a state that exceeds the budget or cannot be written is dropped."""
        self.forget(name)
        state = saved.state
        if self.folder is None or state.nbytes > self.budget:
            return
        while self.used_bytes() + state.nbytes > self.budget:
            self.forget(next(iter(self._files)))
        path = self.folder / f"{uuid.uuid4().hex}.state"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._cipher is None:
                state.tofile(path)
            else:
                path.write_bytes(self._cipher.encrypt(state.tobytes()))
        except OSError:
            logger.warning("a saved prompt state could not be written to disk", exc_info=True)
            with suppress(OSError):
                path.unlink()
            return
        self._files[name] = StateFile(saved.tokens, saved.owner, path, state.nbytes)

    def take(self, name: str) -> SavedState | None:
        """Remove a file and return its state; None where it is missing or incomplete."""
        file = self._files.pop(name, None)
        if file is None:
            return None
        try:
            state = self._read(file.path)
        except (OSError, ValueError):
            return None
        finally:
            file.path.unlink(missing_ok=True)
        return SavedState(file.tokens, state, file.owner) if state.nbytes == file.size else None

    def _read(self, path: Path) -> np.ndarray:
        if self._cipher is None:
            return np.fromfile(path, np.uint8)
        return np.frombuffer(self._cipher.decrypt(path.read_bytes()), np.uint8)

    def forget(self, name: str) -> None:
        """Delete the file of this name, if there is one."""
        if (file := self._files.pop(name, None)) is not None:
            file.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Delete all files and the folder."""
        for name in list(self._files):
            self.forget(name)
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)


def common_prefix(a: Sequence[object], b: Sequence[object]) -> int:
    """Return how many leading elements two sequences share."""
    low, high = 0, min(len(a), len(b))
    # Slices are compared in C, so a binary search over 3,000 tokens takes microseconds.
    if a[:high] == b[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
