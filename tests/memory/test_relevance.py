"""How relevant a fact is to a message: by shared words, by domains of life, and by vectors."""

from __future__ import annotations

from types import SimpleNamespace
from uuid import uuid4

import numpy as np
import pytest

from chat.memory.cosines import DEFAULT_THRESHOLDS, THRESHOLDS_BY_EMBEDDER, get_thresholds
from chat.memory.query_intent import analyse_message
from chat.memory.relevance import compute_relevance, compute_relevant_cosines
from chat.memory.typical_vectors import _load_means, subtract_typical_fact


def make_fact(text: str, kind: str = "likes"):
    return SimpleNamespace(text=text, kind=kind)


def test_a_fact_with_no_shared_word_domain_or_near_vector_is_not_relevant():
    assert compute_relevance(analyse_message("Explain recursion."), make_fact("User likes olives")) == 0


def test_shared_words_and_nearness_add_up():
    asked, fact = analyse_message("Which jazz album is the best?"), make_fact("User likes jazz")
    by_words = compute_relevance(asked, fact)
    assert by_words > 0
    assert compute_relevance(asked, fact, 0.5) == pytest.approx(by_words + 0.5)


def test_a_fact_of_the_asked_domain_is_relevant_without_an_embedder():
    asked = analyse_message("Suggest a dinner recipe.")
    assert compute_relevance(asked, make_fact("User is vegetarian", "diet")) > 0
    assert compute_relevance(asked, make_fact("User likes jazz")) == 0


def test_only_near_vectors_of_the_same_size_count():
    near, far, other = uuid4(), uuid4(), uuid4()
    vectors = {near: [0.8, 0.6], far: [0.3, 0.954], other: [1, 0, 0]}
    stored = {key: np.array(row, np.float32).tobytes() for key, row in vectors.items()}
    message = np.array([1, 0], np.float32)
    assert compute_relevant_cosines(message, stored, "another") == {near: pytest.approx(0.8)}
    assert compute_relevant_cosines(message, {}, "another") == {}


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
