"""The embedder: a model that turns texts into vectors whose cosine says how alike their meanings are."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from . import weights

# The cache of `embed_text`: for each embedder, the vectors of texts by the hash of the text.
_vectors: WeakKeyDictionary[Embedder, dict[int, NDArray[np.float32]]] = WeakKeyDictionary()
_vectors_lock = threading.Lock()
# For each embedder; beyond that the oldest vector is dropped.
_MOST_VECTORS = 256


class Embedder(Protocol):
    """Turns texts into unit vectors. Callable from any thread; the first call loads the model."""

    @property
    def name(self) -> str:
        """The name in the catalogue. It is stored with each vector: only those of one embedder compare."""

    def __hash__(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimensions), each row of length 1. Blocks while it computes.

        Raises OSError where the model is not installed any more.
        """

    def knows_word(self, word: str) -> bool:
        """Return whether the vocabulary has this word as a whole, as it has common words and famous names.

        Raises OSError where the model is not installed any more.
        """


def embed_text(embedder: Embedder, text: str) -> NDArray[np.float32]:
    """Return the vector of one text, as a read-only array of shape (dimensions,).

    The vector is cached, because the topic, the facts and the past chats are each searched with the vector of
    the same message. Blocks and raises OSError as `Embedder.embed` does.
    """
    # The cache holds the hash and not the text, so that no text stays in memory.
    key = hash(text)
    with _vectors_lock:
        vector = _vectors.get(embedder, {}).get(key)
    if vector is None:
        vector = embedder.embed([text])[0]
        vector.setflags(write=False)
        with _vectors_lock:
            cached = _vectors.setdefault(embedder, {})
            cached[key] = vector
            while len(cached) > _MOST_VECTORS:
                del cached[next(iter(cached))]
    return vector


def forget_vectors() -> None:
    """Empty the cache of `embed_text`."""
    with _vectors_lock:
        _vectors.clear()


def load_embedder(entry: weights.Entry) -> Embedder | None:
    """Return the embedder of a catalogue entry, None where it is not installed. Its model is loaded later."""
    if not weights.is_present(entry):
        return None
    if entry.module:
        from .use_embedder import UseEmbedder

        return UseEmbedder(entry.name)
    from .onnx_embedder import OnnxEmbedder

    paths = {path.suffix: path for path in (weights.path_of(entry, file) for file in entry.files)}
    return OnnxEmbedder(entry.name, paths[".onnx"], paths[".json"])
