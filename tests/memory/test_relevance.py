"""How relevant a fact is to a message: by vectors, and by shared words where there are none."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
import pytest

from chat.memory.cosines import DEFAULT_THRESHOLDS, THRESHOLDS_BY_EMBEDDER, get_thresholds
from chat.memory.query_intent import analyse_message
from chat.memory.relevance import compare_vectors, compute_relevance
from chat.memory.typical_vectors import _load_means, subtract_typical_fact
from tests.small_model import load_real_embedder


def compute(message: str, fact: str) -> float:
    """Return the relevance of a fact without a vector to a message."""
    key = uuid4()
    return compute_relevance(analyse_message(message).terms, {key: fact}, {})[key]


def test_a_fact_without_a_vector_is_relevant_by_shared_words():
    assert compute("Which jazz album is the best?", "User likes jazz") > 0
    assert compute("Explain recursion.", "User likes olives") == 0


def test_a_fact_with_a_vector_is_relevant_by_its_vector_only():
    key = uuid4()
    assert compute_relevance(frozenset({"jazz"}), {key: "User likes jazz"}, {key: 0.0}) == {key: 0.0}


def test_without_a_classifier_only_near_vectors_count():
    near, far, other = uuid4(), uuid4(), uuid4()
    vectors = {near: [0.8, 0.6], far: [0.3, 0.954], other: [1, 0, 0]}
    stored = {key: np.array(row, np.float32).tobytes() for key, row in vectors.items()}
    message = np.array([1, 0], np.float32)
    kinds = dict.fromkeys(vectors, "likes")
    assert compare_vectors(message, stored, kinds, "another") == {near: pytest.approx(0.8), far: 0.0}
    assert compare_vectors(message, {}, kinds, "another") == {}


@pytest.mark.parametrize(
    ("message", "kind", "needed", "needless"),
    [
        ("Any idea for a birthday dinner on Saturday?", "diet", "User is vegan", "User plays the cello"),
        (
            "Schlag mir eine Beilage zum Abendessen vor.",
            "health",
            "User has coeliac disease",
            "User likes opera",
        ),
        ("Plan a weekend in Rome for me.", "health", "User uses a wheelchair", "User's sister is a nurse"),
        ("Will it rain tomorrow?", "home", "User lives in Tromsø", "User's sister is a nurse"),
    ],
)
def test_a_fact_that_an_answer_needs_is_found_by_meaning(message, kind, needed, needless):
    embedder = load_real_embedder()
    keys = [uuid4(), uuid4()]
    rows = embedder.embed([needed, needless])
    stored = {key: row.tobytes() for key, row in zip(keys, rows, strict=True)}
    kinds = {keys[0]: kind, keys[1]: "likes"}
    relevant = compare_vectors(embedder.embed([message])[0], stored, kinds, embedder.name)
    assert relevant[keys[0]] > relevant[keys[1]]


def test_what_all_facts_have_in_common_does_not_count():
    [typical] = [mean for name, mean in _load_means().items() if name == "use-multilingual-v3-facts"]
    fact = typical / np.linalg.norm(typical)
    rest = subtract_typical_fact(fact[None, :], "use-multilingual-v3")
    assert abs(float(rest[0] @ fact)) > 0.99
    own = np.roll(fact, 1)
    mixed = (fact + own) / np.linalg.norm(fact + own)
    rest = subtract_typical_fact(mixed[None, :], "use-multilingual-v3")[0]
    assert float(rest @ own) > float(mixed @ own)
    assert np.array_equal(subtract_typical_fact(mixed[None, :], "minilm-l6-int8"), mixed[None, :])


def test_an_embedder_without_measurements_has_strict_thresholds():
    assert get_thresholds("another") is DEFAULT_THRESHOLDS
    for measured in THRESHOLDS_BY_EMBEDDER.values():
        assert measured.relevant <= DEFAULT_THRESHOLDS.relevant
        assert measured.same <= DEFAULT_THRESHOLDS.same
