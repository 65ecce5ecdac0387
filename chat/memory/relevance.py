"""Computes how relevant a fact is to a message, and finds the fact that a description means. Pure.

By shared words, domains of life and vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from chat.memory.domains import detect_domains, score_domain_match
from chat.memory.prototypes import Matrix, Prototypes
from chat.memory.query_intent import QueryIntent, extract_terms, is_english
from chat.memory.rank import Rankable

from .text_similarity import (
    compute_overlap,
    contains_stems,
    extract_content_stems,
    extract_core_stems,
    normalize_text,
)

# The cosine from which a fact is relevant to a message, by embedder. Measured with MiniLM on English pairs:
# unrelated ones stay below 0.19, a third of the related ones is above 0.25. In other languages unrelated
# pairs reach 0.49, so vectors are not used there.
MIN_COSINE = {"minilm-l6-int8": 0.25}
_DEFAULT_MIN_COSINE = 0.6  # for an embedder without measurements, therefore strict


# Kinds whose domain may be determined by the vector. The other kinds have a fixed topic; for them the vector
# is often wrong, because all facts begin alike ("User lives in Graz" is near to the examples for food).
_KINDS_OF_ANY_DOMAIN = frozenset({"likes", "dislikes", "diet", "habit", "event", "health", "job"})


@dataclass(frozen=True, slots=True)
class VectorMatch:
    """The result of comparing vectors: a fact's cosine with the message, and the fact's domain as a set."""

    cosine: float = 0.0
    domains: frozenset[str] = frozenset()


NO_VECTOR_MATCH = VectorMatch()


def compute_relevance(
    intent: QueryIntent, fact: Rankable, match: VectorMatch = NO_VECTOR_MATCH, embedder: str = ""
) -> float:
    """Return the relevance of a fact to a message, 0 for none; terms, domains and the cosine add up."""
    own = extract_terms(fact.text)
    score = len(intent.terms & own) / len(own) if own else 0.0
    by_vector = match.domains if fact.kind in _KINDS_OF_ANY_DOMAIN else frozenset()
    close = match.cosine >= MIN_COSINE.get(embedder, _DEFAULT_MIN_COSINE)
    # The vectors count only where both texts are English. `is_english` is slow, so it is called last.
    trusted = intent.english and (close or not by_vector.isdisjoint(intent.domains)) and is_english(fact.text)
    if intent.domains:
        score += score_domain_match(
            intent.domains,
            fact.kind,
            detect_domains(fact.text) | by_vector if trusted else detect_domains(fact.text),
        )
    return score + match.cosine if close and trusted else score


def needs_identity_facts(intent: QueryIntent, identity: Mapping[UUID, float]) -> bool:
    """Return whether a personal message ("my …") needs identity facts although none of them is relevant.

    `identity` holds the relevance of the identity facts by id. Not if one of them is relevant or the message
    has a domain: then the other identity facts would only take up the budget.
    """
    return intent.personal and not intent.domains and not any(identity.values())


def compute_vector_matches(
    message: Matrix, embeddings: Mapping[UUID, bytes], prototypes: Prototypes | None
) -> dict[UUID, VectorMatch]:
    """Return the match of each fact with a message; `embeddings` are float32 unit vectors as bytes.

    `message` is the message's float32 unit vector, shape (dimensions,). Facts whose vector has another size
    are left out. Without `prototypes` the domains are empty.
    """
    sized = {key: blob for key, blob in embeddings.items() if len(blob) == message.nbytes}
    if not sized:
        return {}
    rows = np.frombuffer(b"".join(sized.values()), dtype=np.float32).reshape(len(sized), -1)
    domains = prototypes.classify_facts(rows) if prototypes else [frozenset[str]()] * len(sized)
    return {
        key: VectorMatch(cosine, domain)
        for key, cosine, domain in zip(sized, (rows @ message).tolist(), domains, strict=True)
    }


# The share of the description's core stems that a sentence must contain.
_MIN_DESCRIBED_SHARE = 0.6
# The minimum cosine. With MiniLM a paraphrase has about 0.77, a contradiction 0.49.
_MIN_DESCRIBED_COSINE = 0.62


def find_nearest(said: str, sentences: Sequence[str], cosines: Sequence[float] = ()) -> int | None:
    """Return the index of the sentence that `said` describes, None if no sentence is similar enough.

    `cosines` holds the cosine of each sentence with `said`; it is empty without vectors.
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
            max(share, cosine if cosine >= _MIN_DESCRIBED_COSINE else 0.0),
            compute_overlap(said, sentence),
        )
        if (share >= _MIN_DESCRIBED_SHARE or cosine >= _MIN_DESCRIBED_COSINE) and (
            best is None or score > best
        ):
            best, found = score, place
    return found


def compute_cosines(vector: Matrix, others: Sequence[bytes | None]) -> list[float]:
    """Return the cosine of a unit vector with each stored float32 unit vector, 0.0 where there is none."""
    return [float(np.frombuffer(o, dtype=np.float32) @ vector) if o else 0.0 for o in others]
