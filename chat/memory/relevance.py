"""Computes how relevant a fact is to a message, and finds the fact that a description means. Pure.

By shared words, domains of life, and the vectors of an embedder, where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import numpy as np

from chat.memory.cosines import get_thresholds
from chat.memory.domains import detect_domains, score_domain_match
from chat.memory.query_intent import QueryIntent, extract_terms
from chat.memory.rank import Rankable
from chat.memory.typical_vectors import Matrix, subtract_typical_fact, subtract_typical_message

from .text_similarity import (
    compute_overlap,
    contains_stems,
    extract_content_stems,
    extract_core_stems,
    normalize_text,
)


def compute_relevance(intent: QueryIntent, fact: Rankable, cosine: float = 0.0) -> float:
    """Return the relevance of a fact to a message, 0 for none; terms, domains and the cosine add up.

    `cosine` is 0 where it is below the embedder's threshold.
    """
    score = cosine + compute_shared_terms(intent.terms, fact.text)
    if intent.domains:
        score += score_domain_match(intent.domains, fact.kind, detect_domains(fact.text))
    return score


def compute_shared_terms(terms: frozenset[str], text: str) -> float:
    """Return the share of the terms of `text` that are among `terms`, 0–1."""
    own = extract_terms(text)
    return len(terms & own) / len(own) if own else 0.0


def needs_identity_facts(intent: QueryIntent, identity: Mapping[UUID, float]) -> bool:
    """Return whether a personal message ("my …") needs identity facts although none of them is relevant.

    `identity` holds the relevance of the identity facts by id. Not if one of them is relevant or the message
    has a domain: then the other identity facts would only take up the budget.
    """
    return intent.personal and not intent.domains and not any(identity.values())


def compute_relevant_cosines(
    message: Matrix, embeddings: Mapping[UUID, bytes], embedder: str
) -> dict[UUID, float]:
    """Return the cosine of each fact that is near enough to a message to help to answer it.

    `message` is the message's float32 unit vector, shape (dimensions,); `embeddings` are such vectors as
    bytes. What all facts and all messages have in common is left out of the cosines.
    """
    keys, rows = stack_vectors(embeddings, message)
    facts = subtract_typical_fact(rows, embedder)
    cosines = facts @ subtract_typical_message(message, embedder)
    min_cosine = get_thresholds(embedder).relevant
    return {key: cosine for key, cosine in zip(keys, cosines.tolist(), strict=True) if cosine >= min_cosine}


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
