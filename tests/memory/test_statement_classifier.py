"""A classifier decides which sentences the model reads, and which of them state a fact for certain."""

from __future__ import annotations

import pytest

from chat.llm.registry import registry
from chat.memory import clauses, statement_classifier
from chat.memory.extraction_prompt import build_grammar
from chat.memory.kind_classifier import classify_kind
from chat.memory.request_classifier import Judgement, classify_suspect
from chat.memory.request_features import find_suspect
from chat.memory.statement_classifier import Likelihood, estimate_likelihood
from chat.memory.trained_weights import AnswerCache
from tests.memory.scripted_extraction import extract_with_answers


@pytest.mark.parametrize(
    ("sentence", "likelihood"),
    [
        ("no cream though, dairy and I parted ways years ago", Likelihood.LIKELY),
        ("Public transport only, I'm not allowed to drive because of my epilepsy", Likelihood.LIKELY),
        ("Always include version numbers when I ask about libraries", Likelihood.LIKELY),
        ("Llevo dos años con las oposiciones a bombera.", Likelihood.LIKELY),
        ("make it shorter", Likelihood.UNLIKELY),
        ("I wonder what to cook", Likelihood.UNLIKELY),
        ("Und ein Beispiel mit x mal Sinus?", Likelihood.UNLIKELY),
    ],
)
def test_sentences_are_judged_by_their_meaning(embedder, sentence, likelihood):
    assert estimate_likelihood(sentence, embedder) == likelihood


def test_without_an_embedder_every_sentence_is_unclear():
    assert estimate_likelihood("I'm a nurse", None) == Likelihood.UNCLEAR


def test_an_embedder_without_weights_decides_nothing(embedder, monkeypatch):
    monkeypatch.setattr(embedder, "name", "another")
    assert estimate_likelihood("I'm a nurse", embedder) == Likelihood.UNCLEAR


def test_a_question_that_states_a_fact_is_read(embedder):
    [sentence] = clauses.judge_sentences("is there one without gluten, since my daughter Mia is coeliac?")
    assert sentence.reason == ""


def test_the_model_may_not_answer_none_to_a_likely_statement(embedder):
    found, provider = extract_with_answers("my epilepsy keeps me from driving", "health: User has epilepsy")
    assert [call.grammar for call in provider.calls] == [build_grammar("en", silent=False)]
    assert [c.text for c in found.candidates] == ["User has epilepsy"]


def test_the_model_does_not_read_an_unlikely_statement(embedder):
    _, provider = extract_with_answers("four of these tests fail again today, no idea why.")
    assert not provider.calls


def test_what_the_user_asks_to_remember_is_kept_whatever_its_likelihood(embedder, monkeypatch):
    monkeypatch.setattr(
        "chat.memory.clauses.estimate_likelihood", lambda sentence, embedder: Likelihood.UNLIKELY
    )
    found, _ = extract_with_answers("Remember that the spare key hangs in the shed.", "none")
    assert [(c.text, c.explicit) for c in found.candidates] == [("the spare key hangs in the shed", True)]


def test_judged_sentences_are_kept_by_hash_only(embedder, monkeypatch):
    monkeypatch.setattr(statement_classifier, "_scores", AnswerCache(unknown=None))
    estimate_likelihood("I'm a nurse in Ghent", embedder)
    assert statement_classifier._scores._answers
    assert "nurse" not in str(statement_classifier._scores._answers)


class GoneEmbedder:
    """An embedder whose files were deleted while the program runs."""

    name = "use-multilingual-v3"

    def embed(self, texts):
        raise OSError("its weights have gone")


def test_a_removed_embedder_decides_nothing_and_breaks_nothing(monkeypatch):
    monkeypatch.setattr(registry, "_embedder", GoneEmbedder())
    assert estimate_likelihood("We keep nine geese.", registry.embedder()) == Likelihood.UNCLEAR
    assert classify_kind("User keeps nine geese", registry.embedder()) == ""
    suspect = find_suspect("I'd rather you didn't know that we keep nine geese, remove it.")
    assert suspect is not None
    assert classify_suspect(suspect, registry.embedder()) == Judgement()
