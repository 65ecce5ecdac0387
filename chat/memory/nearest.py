"""Which of several sentences somebody means who says it in other words: by words, and by vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .similar import contains, content, core, normalise, overlap

Vector = NDArray[np.float32]

# Of the meaning-bearing words that were said, so many must be in the sentence.
_SHARE = 0.6
# MiniLM gives a paraphrase 0.77 and a contradiction 0.49 (design §5).
_NEAR = 0.62


def nearest(said: str, sentences: Sequence[str], likeness: Sequence[float] = ()) -> int | None:
    """Return the place of the sentence that is meant, None where none is near.

    `likeness` holds the cosine of each sentence with what was said, where there are vectors.
    """
    wanted = core(said)
    best: tuple[float, float] | None = None
    found = None
    for place, sentence in enumerate(sentences):
        if normalise(sentence) == normalise(said):
            return place
        there = content(sentence)
        share = sum(contains(there, frozenset([word])) for word in wanted) / len(wanted) if wanted else 0.0
        alike = likeness[place] if likeness else 0.0
        score = (max(share, alike if alike >= _NEAR else 0.0), overlap(said, sentence))
        if (share >= _SHARE or alike >= _NEAR) and (best is None or score > best):
            best, found = score, place
    return found


def cosines(vector: Vector, others: Sequence[bytes | None]) -> list[float]:
    """Return the cosine of a vector with each of these, 0 where there is none; all are of unit length."""
    return [float(np.frombuffer(o, dtype=np.float32) @ vector) if o else 0.0 for o in others]
