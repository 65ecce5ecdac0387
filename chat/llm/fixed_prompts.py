"""States of the fixed beginnings of prompts, in files that the next start reads. For the engine thread only.

A fixed beginning is the same text for all users and contains nothing that a user wrote; states of
conversations are never stored there. Evaluating the fixed beginnings takes 25 to 100 s with the default
model; reading their states takes less than a second. No llama.cpp in this module.
"""

from __future__ import annotations

import hashlib
import logging
import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

logger = logging.getLogger(__name__)

# All files of fixed prompts together, in bytes. The fixed beginnings of the default model take about 150 MB;
# the rest keeps those of a second model.
FIXED_PROMPTS_BUDGET = 512 * 1024**2
_DIGEST_BYTES = 32


class FixedPromptStore:
    """States by model, engine and tokens, in a folder that several processes may share.

    `model` is the file of the weights, and `engine` names the version of llama.cpp. Errors of the file system
    are logged, and the prompt is then evaluated as if nothing were stored.
    """

    def __init__(self, folder: Path, model: Path, engine: str, *, budget: int = FIXED_PROMPTS_BUDGET) -> None:
        self.folder = folder
        self.budget = budget
        self._model = model
        self._engine = engine

    def load(self, tokens: Sequence[int]) -> np.ndarray | None:
        """Return the state of these tokens (a flat array of uint8); None without a complete file of it."""
        try:
            path = self._path_of(tokens)
            content = np.fromfile(path, np.uint8)
            # The file that was not used for longest is deleted first.
            os.utime(path)
        except OSError:
            return None
        digest, state = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        if digest.tobytes() != _hash_state(state):
            with suppress(OSError):
                path.unlink()
            return None
        return state

    def save(self, tokens: Sequence[int], state: np.ndarray) -> None:
        """Write the state of these tokens, and delete the files that exceed the budget."""
        if state.nbytes > self.budget:
            return
        unfinished = self.folder / f"{uuid.uuid4().hex}.part"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with unfinished.open("wb") as file:
                file.write(_hash_state(state))
                state.tofile(file)
            unfinished.replace(self._path_of(tokens))
            self._delete_excess()
        except OSError:
            logger.warning("the state of a fixed prompt could not be written to disk", exc_info=True)
            with suppress(OSError):
                unfinished.unlink()

    def _path_of(self, tokens: Sequence[int]) -> Path:
        """Return the file for these tokens. Other weights, even under the same name, get another file."""
        weights = self._model.stat()
        key = f"{self._model.name}\n{weights.st_size}\n{weights.st_mtime_ns}\n{self._engine}\n"
        content = key.encode() + np.asarray(tokens, np.int32).tobytes()
        return self.folder / f"{hashlib.sha256(content).hexdigest()}.state"

    def _delete_excess(self) -> None:
        """Delete the files that were unused for longest, until the rest is within the budget.

        Unfinished files count too: a process that was killed leaves one behind.
        """
        files = [(path, path.stat()) for path in self.folder.iterdir()]
        used = sum(status.st_size for _, status in files)
        for path, status in sorted(files, key=lambda item: item[1].st_mtime):
            if used <= self.budget:
                return
            path.unlink(missing_ok=True)
            used -= status.st_size


def _hash_state(state: np.ndarray) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(state).data).digest()
