"""Which facts have to do with what is looked for: by stems that they share, and by what they mean.

A prompt may take what lies in the same field of life, for the model leaves out what it does not need; whoever
searches wants what was looked for.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from numpy import float32
from numpy.typing import NDArray

from chat.context.known import Known, live, live_with_vectors
from chat.llm.embedder import Embedder
from chat.memory import relevance
from chat.memory.asking import is_english, may_be_english, terms

# Cosine from which a fact answers to a search, per embedder. Measured with MiniLM, 40 queries of mostly one
# word against 30 facts: 1 of 1,160 unrelated pairs is above 0.35, and 24 of 40 related ones; at 0.25, where a
# prompt begins, 13 and 32. Of 41 queries in other languages 3 pairs of 1,230 are, which are related.
_NEAR = {"minilm-l6-int8": 0.35}
_UNMEASURED = 0.6  # an embedder that nobody measured has to be surer
# No thread is there before the first search.
_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="meaning")


@dataclass(frozen=True, slots=True)
class Sense:
    """What a text means, worked out in another thread meanwhile."""

    embedder: Embedder
    rows: Future[NDArray[float32]]


def sense_of(text: str, embedder: Embedder | None) -> Sense | None:
    """Begin to embed a text and return at once; None without an embedder, or of another language.

    That takes some 9 ms, in which the index can be asked.
    """
    if embedder is None or not may_be_english(text):
        return None
    return Sense(embedder, _threads.submit(embedder.embed, [text]))


def matching(owner: Any, text: str, sense: Sense | None) -> tuple[list[Known], dict[UUID, float]]:
    """Return an owner's live facts, and how much those that have to do with a text do, each above 0.

    One query. Waits for what the text means: call it outside a transaction.
    """
    facts, cosines = _seen(owner, sense)
    wanted = terms(text)
    weights = {}
    for fact in facts:
        own = terms(fact.text)
        weight = len(wanted & own) / len(own) if own else 0.0
        weight += cosines.get(fact.id, 0.0) if is_english(fact.text) else 0.0
        if weight:
            weights[fact.id] = weight
    return facts, weights


def _seen(owner: Any, sense: Sense | None) -> tuple[list[Known], dict[UUID, float]]:
    """Return the facts, and the cosines of those that are near enough."""
    if sense is None:
        return live(owner), {}
    facts, vectors = live_with_vectors(owner, sense.embedder)
    try:
        vector = sense.rows.result()[0]
    except OSError:
        # Its weights have gone since it was found: searching works without an embedder too.
        return facts, {}
    floor = _NEAR.get(sense.embedder.name, _UNMEASURED)
    seen = relevance.sights(vector, vectors, None)
    return facts, {key: sight.cosine for key, sight in seen.items() if sight.cosine >= floor}
