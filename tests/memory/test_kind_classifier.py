"""The kind of a fact is chosen by its meaning; a kind with one value only where the classifier is sure."""

from __future__ import annotations

import numpy as np
import pytest

from chat.memory.kind_classifier import Weights, choose_kind, classify_kind
from chat.memory.kind_rules import guess_kind, settle_kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("User's name is Priya", "name"),
        ("User is a third-year vet student", "job"),
        ("User is allergic to nuts", "health"),
        ("Nutzer hat eine Tochter namens Jule", "family"),
        ("L'utilisateur habite à Nantes", "home"),
        ("User wants answers in two sentences", "reply_style"),
        ("用户是一名护士", "job"),
        ("ユーザーは猫を二匹飼っている", "pet"),
    ],
)
def test_a_fact_gets_the_kind_of_its_meaning(embedder, text, kind):
    assert classify_kind(text, embedder) == kind


def test_the_classifier_overrules_the_model(embedder):
    assert settle_kind("tools", "User is allergic to nuts") == "health"


def test_a_fact_in_the_first_person_is_classified_too(embedder):
    assert guess_kind("I'm allergic to nuts") == "health"


def test_a_kind_with_one_value_needs_certainty():
    weights = Weights(("home", "event"), np.eye(2, dtype=np.float32), np.zeros(2, dtype=np.float32))
    assert choose_kind(np.array([3.0, 0.0], dtype=np.float32), weights) == "home"
    three = Weights(("event", "home", "likes"), np.eye(3, dtype=np.float32), np.zeros(3, dtype=np.float32))
    assert choose_kind(np.array([0.4, 0.5, 0.3], dtype=np.float32), three) == "event"


def test_without_an_embedder_the_classifier_says_nothing():
    assert classify_kind("User is a nurse", None) == ""


def test_a_kind_with_one_value_that_model_and_rules_agree_on_is_kept(embedder, monkeypatch):
    monkeypatch.setattr("chat.memory.kind_rules.classify_kind", lambda text, embedder: "event")
    assert settle_kind("home", "User moved to Linz") == "home"
    assert settle_kind("event", "User moved to Linz") == "event"
    assert settle_kind("job", "User moved to Linz") == "event"
