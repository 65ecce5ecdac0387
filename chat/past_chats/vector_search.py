"""Finds the windows of past conversations that are near a message in meaning.

Each process keeps one bit a dimension of every vector of an owner in memory, 64 bytes a window. The nearest
by these bits are then compared exactly, with the vectors in the database: of 12,000 windows the bits find
98 % of the 20 nearest. The bits are a cache: rows that were deleted are not found any more, and their bits
leave the memory within a minute of searching.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chat.models import MessageWindow, User

# Windows that are compared exactly, and owners whose bits stay in memory.
NEAREST = 200
_MOST_OWNERS = 8
_COUNT_EVERY = 60.0  # seconds
# More than any distance in bits.
_FAR = np.iinfo(np.int16).max
# Rows that are read from the database at a time.
_ROWS = 4096


@dataclass(slots=True)
class _Bits:
    """The windows of one owner: their keys, ascending, the place of their conversation in `conversations`,
    and their bits, uint64 of shape (dimensions / 64, windows): one row after the other is compared.
    """

    keys: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    places: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    bits: NDArray[np.uint64] | None = None
    conversations: dict[Any, int] = field(default_factory=dict)
    # When the rows were counted, seconds of the monotonic clock.
    counted_monotonic: float = 0.0


class BitCache:
    """The bits of the owners who searched last, by owner and embedder. Callable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[Any, str], _Bits] = OrderedDict()

    def find_nearest(
        self, owner: User, embedder_name: str, vector: NDArray[np.float32], without: Collection[Any]
    ) -> list[int]:
        """Return the keys of the windows nearest to a vector, at most NEAREST.

        Windows of the conversations `without` (keys) are left out. One query, and another one after windows
        were added, and once a minute.
        """
        with self._lock:
            known = self._update(owner, embedder_name)
            if known.bits is None:
                return []
            distances = _count_differing(known.bits, take_bits(vector[None])[0])
            unwanted = [known.conversations[key] for key in without if key in known.conversations]
            if unwanted:
                is_unwanted = np.zeros(len(known.conversations), dtype=bool)
                is_unwanted[unwanted] = True
                distances[is_unwanted[known.places]] = _FAR
            if len(distances) <= NEAREST:
                nearest = np.arange(len(distances))
            else:
                nearest = np.argpartition(distances, NEAREST)[:NEAREST]
            return [int(key) for key in known.keys[nearest[distances[nearest] < _FAR]]]

    def load(self, owner: User, embedder_name: str) -> None:
        """Load the bits of an owner before the first search."""
        with self._lock:
            self._update(owner, embedder_name)

    def _update(self, owner: User, embedder_name: str) -> _Bits:
        rows = MessageWindow.objects.for_owner(owner).filter(embedder=embedder_name)
        name = (owner.pk, embedder_name)
        known = self._known.pop(name, None) or _Bits()
        last = int(known.keys[-1]) if len(known.keys) else 0
        newest = rows.order_by("-pk").values_list("pk", flat=True).first() or 0
        if newest < last:
            known, last = _Bits(), 0
        if newest > last:
            known = _append(known, rows.filter(pk__gt=last))
        # Windows may have been deleted, or written by a transaction that began earlier. To count them takes
        # some 10 ms for 30,000.
        if time.monotonic() >= known.counted_monotonic + _COUNT_EVERY:
            if rows.count() != len(known.keys):
                known = _append(_Bits(), rows)
            known.counted_monotonic = time.monotonic()
        self._known[name] = known
        while len(self._known) > _MOST_OWNERS:
            self._known.popitem(last=False)
        return known

    def clear(self) -> None:
        """Forget all bits."""
        with self._lock:
            self._known.clear()


def _append(known: _Bits, rows: Any) -> _Bits:
    """Return the bits with those of new windows behind them."""
    keys, places, parts = [known.keys], [known.places], [] if known.bits is None else [known.bits]
    conversations = dict(known.conversations)
    found = rows.order_by("pk").values_list("pk", "message__conversation", "vector").iterator(_ROWS)
    portion: list[tuple[int, int, bytes]] = []
    for key, conversation, vector in found:
        place = conversations.setdefault(conversation, len(conversations))
        portion.append((key, place, bytes(vector)))
        if len(portion) == _ROWS:
            _take_portion(portion, keys, places, parts)
    _take_portion(portion, keys, places, parts)
    bits = np.ascontiguousarray(np.concatenate(parts, axis=1)) if parts else None
    return _Bits(np.concatenate(keys), np.concatenate(places), bits, conversations, known.counted_monotonic)


def _take_portion(
    portion: list[tuple[int, int, bytes]],
    keys: list[NDArray[np.int64]],
    places: list[NDArray[np.int32]],
    parts: list[NDArray[np.uint64]],
) -> None:
    if portion:
        keys.append(np.array([key for key, _, _ in portion], dtype=np.int64))
        places.append(np.array([place for _, place, _ in portion], dtype=np.int32))
        parts.append(take_bits(unpack_vectors([vector for _, _, vector in portion])).T)
        portion.clear()


def _count_differing(bits: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.int16]:
    """Return in how many bits each column differs from `wanted`; 1.6 million windows take about 20 ms."""
    distances = np.zeros(bits.shape[1], dtype=np.int16)
    for row, word in zip(bits, wanted, strict=True):
        distances += np.bitwise_count(row ^ word)
    return distances


def take_bits(vectors: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the signs of vectors: from shape (rows, dimensions) uint64 of shape (rows, dimensions / 64)."""
    return np.packbits(vectors > 0, axis=1).view(np.uint64)


def unpack_vectors(packed: list[bytes]) -> NDArray[np.float32]:
    """Return vectors of `MessageWindow` as float32 of length 1, shape (rows, dimensions)."""
    vectors = np.frombuffer(b"".join(packed), dtype=np.int8).reshape(len(packed), -1).astype(np.float32)
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9))


bit_cache = BitCache()
