"""A classifier finds the stored facts that a message changes, whatever its words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from chat.jobs.extract import extract_message
from chat.memory.candidates import FactCandidate
from chat.memory.changed_facts import FactChange, FactChanges, find_changes
from chat.memory.consolidate import Action
from chat.memory.effect_classifier import estimate_effects
from chat.models import Fact

pytestmark = pytest.mark.django_db


@pytest.fixture
def know(make_fact, embedder):
    def store(text: str, **fields) -> Fact:
        vector = embedder.embed([text])[0].tobytes()
        return make_fact(text, embedding=vector, embedder=embedder.name, **fields)

    return store


def quote(text: str) -> FactCandidate:
    return FactCandidate(text, "likes", "preference", "", hedged=False, quote=text, in_own_words=True)


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        ("User wants short answers", "please write long, detailed answers from now on"),
        ("User is writing a novel", "the novel is finished and sold to a publisher"),
        ("User works at Siemens", "I got promoted from technician to team lead, and left Siemens for Bosch"),
    ],
)
def test_a_sentence_that_changes_a_fact_is_found(know, embedder, fact, sentence):
    [change] = find_changes([sentence], [know(fact), know("User likes tea")], embedder).changes
    assert (change.fact.text, change.sentence) == (fact, sentence)
    assert change.probability >= 0.5


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        ("User lives in Ghent", "my brother moved to Vienna"),
        ("User lives in Ghent", "I'm thinking of leaving Ghent"),
        ("User has a dog called Mo", "we got a second dog"),
        ("User plays the cello", "I have a cello lesson tomorrow"),
        ("User likes rock climbing", "I was looking for equipment for rock climbing last night"),
    ],
)
def test_a_sentence_about_the_same_thing_that_leaves_the_fact_true_is_not(know, embedder, fact, sentence):
    assert find_changes([sentence], [know(fact)], embedder).changes == []


def test_without_an_embedder_or_vectors_nothing_is_found(make_fact, embedder):
    fact = make_fact("User is writing a novel")
    sentence = "the novel is finished and sold to a publisher"
    assert find_changes([sentence], [fact], None).changes == []
    assert find_changes([sentence], [fact], embedder).changes == []


def test_an_embedder_without_weights_gives_no_effects():
    vector = np.ones(4, dtype=np.float32)
    assert estimate_effects(vector, vector[None], "another") is None


def test_each_fact_is_changed_once_by_the_most_probable_sentence(make_fact):
    first, second = make_fact("User works as a barista"), make_fact("User works at Fernhill Coffee")
    said = "Monday was my first day as a dispatcher."
    changes = FactChanges([FactChange(said, first, 0.8, False), FactChange(said, second, 0.75, True)])
    opinion = changes.take_for(quote(said), None)
    assert (opinion.action, opinion.target) == (Action.SUPERSEDE, first.pk)
    assert [(o.action, o.target) for o in changes.take_endings()] == [(Action.END, second.pk)]
    assert changes.take_for(quote(said), None) is None
    assert changes.take_endings() == []


def test_only_a_candidate_that_may_state_the_new_value_takes_the_place_of_a_fact(know, embedder):
    age = know("User is 29 years old", kind="age")
    said = "turned 30 on tuesday and my knee hurts"
    knee = FactCandidate("User's knee hurts", "health", "identity", "", hedged=False, quote=said)
    [vector] = embedder.embed([knee.text])
    changes = FactChanges([FactChange(said, age, 0.8, False)])
    assert changes.list_new_values([knee], [vector]) == {said: "age"}
    assert changes.take_for(knee, vector) is None
    number = replace(knee, text="User is 30 years old", kind="age")
    assert changes.list_new_values([number], [vector]) == {}
    assert changes.take_for(number, vector).target == age.pk


def test_a_new_value_is_kept_in_the_users_own_words_and_takes_the_place_of_the_fact(scripted, know, talk):
    old = know("User wants answers in bullet points", kind="reply_style")
    scripted.completions.extend(["none"] * 4)
    asked, _ = talk("the list thing is done with, i want normal sentences instead of bullets from now on")
    extract_message(asked)
    old.refresh_from_db()
    [new] = Fact.objects.live()
    assert "normal sentences" in new.text
    assert (new.supersedes_id, old.superseded_at is None) == (old.pk, False)
