"""Parked prefixes in files: where they go when memory is full (design §4).

A file is written in some 100 ms and read in less, while reading 3,000 tokens again takes the better part of a
minute. What a file holds can be turned back into the words it was made from, so the folder is the user's own
alone and is emptied at the start and at the end.
"""

from __future__ import annotations

import logging
import shutil
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Filed:
    """The tokens of a prefix, and the file with what the model has made of them."""

    tokens: list[int]
    path: Path
    size: int


class Garage:
    """Files by name, within a budget in bytes; whoever came first leaves first. Engine thread only."""

    def __init__(self, folder: Path | None, budget: int) -> None:
        self.folder = folder if budget > 0 else None
        self.budget = budget
        self._filed: OrderedDict[str, Filed] = OrderedDict()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __contains__(self, name: str) -> bool:
        return name in self._filed

    def __iter__(self) -> Iterator[tuple[str, list[int]]]:
        """Yield the names with their tokens."""
        return iter([(name, filed.tokens) for name, filed in self._filed.items()])

    def used(self) -> int:
        """Return the bytes in use."""
        return sum(filed.size for filed in self._filed.values())

    def put(self, name: str, tokens: list[int], state: np.ndarray) -> None:
        """Write a prefix to its file; one that does not fit, or cannot be written, is not kept."""
        self.forget(name)
        if self.folder is None or state.nbytes > self.budget:
            return
        while self.used() + state.nbytes > self.budget:
            self.forget(next(iter(self._filed)))
        path = self.folder / f"{uuid.uuid4().hex}.state"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            state.tofile(path)
        except OSError:
            logger.warning("a prompt cache could not be written; it will be read again", exc_info=True)
            with suppress(OSError):
                path.unlink()
            return
        self._filed[name] = Filed(tokens, path, state.nbytes)

    def take(self, name: str) -> np.ndarray | None:
        """Return what a file holds, and remove it; None where it is gone or not whole."""
        filed = self._filed.pop(name, None)
        if filed is None:
            return None
        try:
            state = np.fromfile(filed.path, np.uint8)
        except OSError:
            return None
        finally:
            filed.path.unlink(missing_ok=True)
        return state if state.nbytes == filed.size else None

    def forget(self, name: str) -> None:
        """Remove a file, where there is one of that name."""
        if (filed := self._filed.pop(name, None)) is not None:
            filed.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove all files."""
        for name in list(self._filed):
            self.forget(name)
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
