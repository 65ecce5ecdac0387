"""The classifier of durability: its weights, its bands, and what becomes of the candidates in each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from chat.actions.text_extraction import embed_lasting_candidates
from chat.llm.registry import registry
from chat.memory import durability
from chat.memory.candidates import Extraction, FactCandidate
from chat.memory.durability import Classifier, judge_durability
from chat.models import Durability

TEXTS = ["User is lasting", "User is doubtful", "User is passing"]


class SignEmbedder:
    """Embeds a text by the one word that the classifier of these tests knows."""

    name = "signs"

    def embed(self, texts):
        values = {"lasting": 1.0, "doubtful": 0.0, "passing": -1.0}
        return np.array([[values[text.split()[-1]], 0.0] for text in texts], dtype=np.float32)


@pytest.fixture
def signs(monkeypatch):
    """Use an embedder and a classifier that judge by one word."""
    half = np.array([1.0, 0.0], dtype=np.float32)
    classifier = Classifier(half, half, bias=0.0, lasting_from=0.5, doubtful_from=-0.5)
    monkeypatch.setattr(durability, "load_classifier", lambda name: classifier if name == "signs" else None)
    monkeypatch.setattr(registry, "_embedder", SignEmbedder())


def make_candidate(text: str, *, explicit: bool = False) -> FactCandidate:
    return FactCandidate(text, "likes", "preference", "", hedged=False, quote=text, explicit=explicit)


def test_a_passing_candidate_is_refused_and_a_doubtful_one_is_marked(signs):
    found = Extraction([make_candidate(text) for text in TEXTS])
    vectors = embed_lasting_candidates(found)
    assert [(c.text, c.durability) for c in found.candidates] == [
        ("User is lasting", Durability.LASTING),
        ("User is doubtful", Durability.DOUBTFUL),
    ]
    assert [list(vector) for vector in vectors if vector is not None] == [[1, 0], [0, 0]]
    assert [(r.text, r.reason) for r in found.refused] == [("User is passing", "is-temporary")]


def test_what_the_user_asked_to_remember_is_lasting(signs):
    found = Extraction([make_candidate(text, explicit=True) for text in TEXTS])
    embed_lasting_candidates(found)
    assert [c.durability for c in found.candidates] == [Durability.LASTING] * 3
    assert not found.refused


@pytest.mark.parametrize("word", ["doubtful", "passing"])
def test_what_the_user_asks_for_from_now_on_is_lasting(signs, word):
    candidate = replace(
        make_candidate(f"User is {word}"), quote=f"I want answers in bullet points from now on, {word}"
    )
    found = Extraction([candidate])
    embed_lasting_candidates(found)
    assert [c.durability for c in found.candidates] == [Durability.LASTING]


def test_without_an_embedder_every_candidate_is_stored(monkeypatch):
    monkeypatch.setattr(registry, "_embedder", None)
    found = Extraction([make_candidate(text) for text in TEXTS])
    assert embed_lasting_candidates(found) == [None] * 3
    assert [c.durability for c in found.candidates] == [Durability.LASTING] * 3


def test_without_weights_for_the_embedder_every_candidate_is_lasting():
    vector = np.zeros(2, dtype=np.float32)
    assert judge_durability(vector, vector, "unknown") is Durability.LASTING


def test_the_bands_of_the_stored_weights_are_in_order():
    for file in durability.FOLDER.glob("*.json"):
        classifier = durability.load_classifier(file.stem)
        assert classifier is not None
        assert classifier.doubtful_from < classifier.lasting_from
        assert classifier.text.shape == classifier.quote.shape
