"""Computes how relevant a fact is to a message, and finds the fact that a description means. Pure.

By the vectors of an embedder, or by shared words where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np

from chat.memory.cosines import get_thresholds
from chat.memory.query_intent import extract_terms
from chat.memory.relevance_classifier import estimate_needed
from chat.memory.typical_vectors import Matrix, subtract_typical_fact, subtract_typical_message

from .text_similarity import (
    compute_overlap,
    contains_stems,
    extract_content_stems,
    extract_core_stems,
    normalize_text,
)

# A fact with at least this probability is relevant. Of the facts that messages of unknown persons need, 79 %
# reach it, with 1.2 other facts of 16 a message; with lists of words and cosines, which decided before, 54 %
# did, with one other fact. With 0.2 they are 65 % and 0.5 (`tests/benchmarks/train_relevance.py`).
_LEAST_PROBABILITY = 0.1


def compute_shared_terms(terms: frozenset[str], text: str) -> float:
    """Return the share of the terms of `text` that are among `terms`, 0–1."""
    own = extract_terms(text)
    return len(terms & own) / len(own) if own else 0.0


def compute_relevance(
    terms: frozenset[str], texts: Mapping[UUID, str], relevant: Mapping[UUID, float]
) -> dict[UUID, float]:
    """Return the relevance of each fact to a message, 0 for none; `texts` are those of the facts, by id.

    `relevant` holds that of the facts that have a vector, by `compare_vectors`. The others, learned a moment
    ago or without an embedder, are compared by the terms that they share with the message.
    """
    return {
        key: relevant[key] if key in relevant else compute_shared_terms(terms, text)
        for key, text in texts.items()
    }


def compare_vectors(
    message: Matrix, embeddings: Mapping[UUID, bytes], kinds: Mapping[UUID, str], embedder: str
) -> dict[UUID, float]:
    """Return the relevance of facts to a message by their vectors, 0 for none.

    `message` is the message's float32 unit vector, shape (dimensions,); `embeddings` are such vectors as
    bytes, and `kinds` the kinds of all facts, by id. The relevance is the probability that the message needs
    the fact. With an embedder for which there is no classifier, it is the cosine without what all facts and
    all messages have in common.
    """
    keys, rows = stack_vectors(embeddings, message)
    values, least = estimate_needed(message, rows, [kinds[key] for key in keys], embedder), _LEAST_PROBABILITY
    if values is None:
        values = subtract_typical_fact(rows, embedder) @ subtract_typical_message(message, embedder)
        least = get_thresholds(embedder).relevant
    return {key: value if value >= least else 0.0 for key, value in zip(keys, values.tolist(), strict=True)}


def stack_vectors(embeddings: Mapping[UUID, bytes], like: Matrix) -> tuple[list[UUID], Matrix]:
    """Return the keys and the matrix of the vectors that have the size of `like`, one row each."""
    sized = {key: blob for key, blob in embeddings.items() if len(blob) == like.nbytes}
    rows = np.frombuffer(b"".join(sized.values()), dtype=np.float32)
    return list(sized), rows.reshape(len(sized), like.size)


# The share of the description's core stems that a sentence must contain.
_MIN_DESCRIBED_SHARE = 0.6


def find_nearest(
    said: str, sentences: Sequence[str], cosines: Sequence[float] = (), min_cosine: float = 1.0
) -> int | None:
    """Return the index of the sentence that `said` describes, None if no sentence is similar enough.

    `cosines` holds the cosine of each sentence with `said`, which counts from `min_cosine` on; it is empty
    without vectors.
    """
    wanted = extract_core_stems(said)
    best: tuple[float, float] | None = None
    found = None
    for place, sentence in enumerate(sentences):
        if normalize_text(sentence) == normalize_text(said):
            return place
        there = extract_content_stems(sentence)
        share = (
            sum(contains_stems(there, frozenset([word])) for word in wanted) / len(wanted) if wanted else 0.0
        )
        cosine = cosines[place] if cosines else 0.0
        score = (
            max(share, cosine if cosine >= min_cosine else 0.0),
            compute_overlap(said, sentence),
        )
        if (share >= _MIN_DESCRIBED_SHARE or cosine >= min_cosine) and (best is None or score > best):
            best, found = score, place
    return found


def compute_cosines(vector: Matrix, others: Sequence[bytes | None]) -> list[float]:
    """Return the cosine of a unit vector with each stored float32 unit vector, 0.0 where there is none."""
    return [float(np.frombuffer(o, dtype=np.float32) @ vector) if o else 0.0 for o in others]
