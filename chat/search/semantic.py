"""Finds facts by shared word stems and by the cosine of their embeddings.

A prompt may include loosely related facts, since the model ignores what it does not need; a search must be
stricter, so it has its own thresholds.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from uuid import UUID

from numpy import float32
from numpy.typing import NDArray

from chat.context.fact_snapshot import FactSnapshot, list_live_facts, list_live_facts_with_vectors
from chat.llm.embedder import Embedder
from chat.llm.registry import registry
from chat.memory import relevance
from chat.memory.cosines import get_thresholds
from chat.memory.query_intent import extract_terms
from chat.memory.relevance import compute_cosines, find_nearest
from chat.models import Fact, User

# Threads are started at the first search.
_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="search-embedding")


@dataclass(frozen=True, slots=True)
class PendingVector:
    """The embedding of the search text, computed in another thread."""

    embedder: Embedder
    rows: Future[NDArray[float32]]


def start_embedding(text: str, embedder: Embedder | None) -> PendingVector | None:
    """Start to embed a text and return at once: it happens while the index is queried.

    Returns None without an embedder.
    """
    return PendingVector(embedder, _threads.submit(embedder.embed, [text])) if embedder else None


def match_facts(
    owner: User, text: str, sense: PendingVector | None
) -> tuple[list[FactSnapshot], dict[UUID, float]]:
    """Return the owner's live facts, and a weight above 0 for each related one.

    One query. It waits for the vector, so call it outside a transaction.
    """
    facts, cosines = _load_cosines(owner, sense)
    wanted = extract_terms(text)
    weights = {}
    for fact in facts:
        if weight := relevance.compute_shared_terms(wanted, fact.text) + cosines.get(fact.id, 0.0):
            weights[fact.id] = weight
    return facts, weights


def _load_cosines(owner: User, sense: PendingVector | None) -> tuple[list[FactSnapshot], dict[UUID, float]]:
    """Return the owner's live facts, and by id the cosines of those near the query.

    Near means at least the embedder's threshold for search.
    """
    if sense is None:
        return list_live_facts(owner), {}
    facts, vectors = list_live_facts_with_vectors(owner, sense.embedder)
    try:
        vector = sense.rows.result()[0]
    except OSError:
        # The embedder's files were removed: search by words only.
        return facts, {}
    keys, rows = relevance.stack_vectors(vectors, vector)
    min_cosine = get_thresholds(sense.embedder.name).found
    return facts, {k: c for k, c in zip(keys, (rows @ vector).tolist(), strict=True) if c >= min_cosine}


def find_best_match(owner: User, words: str) -> Fact | None:
    """Return the live fact that best matches these words, by shared words and by embeddings; None where none
    does.
    """
    facts = list(Fact.objects.for_owner(owner).live().select_related("source_conversation"))
    embedder = registry.embedder()
    cosines = _compute_cosines(embedder, words, facts)
    min_cosine = get_thresholds(embedder.name if embedder else "").described
    place = find_nearest(words, [fact.text for fact in facts], cosines, min_cosine)
    return None if place is None else facts[place]


def _compute_cosines(embedder: Embedder | None, words: str, facts: list[Fact]) -> list[float]:
    if embedder is None or not facts:
        return []
    try:
        vector = embedder.embed([words])[0]
    except OSError:
        # Its weights have gone since it was found.
        return []
    mine = [f.embedding if f.embedder == embedder.name else None for f in facts]
    return compute_cosines(vector, [bytes(e) if e else None for e in mine])
