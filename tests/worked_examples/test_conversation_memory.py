"""The worked example of the design for conversation memory: facts about Selene, and their graph."""

from __future__ import annotations

import pytest

from chat.models import Entity, Fact, Relationship
from tests.jobs.run_extraction import run_extraction_jobs

pytestmark = pytest.mark.django_db

# What the user says, and what a model reads in it.
TALK = [
    (
        "I'm building Selene for ADHD management.",
        "building: User is building Selene for ADHD management",
    ),
    ("I prefer local-first architecture.", "likes: User prefers local-first architecture"),
    ("I admire Linear for its keyboard shortcuts.", "likes: User admires Linear for its keyboard shortcuts"),
    ("I struggle with time blindness.", "health: User struggles with time blindness"),
]


@pytest.fixture
def told(clock, scripted, add_exchange):
    """Memory after the talk."""
    for said, answer in TALK:
        scripted.completions.append(answer)
        add_exchange(said)
        run_extraction_jobs(clock)


def test_each_sentence_becomes_a_fact_of_its_category(told):
    facts = {fact.text: (fact.category, fact.kind) for fact in Fact.objects.live()}
    assert facts == {
        "User is building Selene for ADHD management": ("project", "building"),
        "User prefers local-first architecture": ("preference", "likes"),
        "User admires Linear for its keyboard shortcuts": ("preference", "likes"),
        "User struggles with time blindness": ("identity", "health"),
    }


def test_the_graph_is_the_one_that_the_design_draws(told):
    assert {str(row) for row in Relationship.objects.filter(valid=True)} == {
        "User builds Selene",
        "Selene designed_for ADHD",
        "User prefers local-first architecture",
        "User admires Linear",
        "Linear has_good keyboard shortcuts",
        "User struggles_with time blindness",
    }
    assert Entity.objects.get(name="Selene").type == "project"


def test_what_selene_is_written_in_is_learned_from_a_sentence_that_names_only_selene(
    told, clock, scripted, add_exchange
):
    scripted.completions.extend(["tools: Selene is written in TypeScript", "ADD"])
    add_exchange("Selene is written in TypeScript.")
    run_extraction_jobs(clock)
    fact = Fact.objects.live().get(text="Selene is written in TypeScript")
    assert (fact.category, fact.quote) == ("project", "Selene is written in TypeScript.")
    assert "Selene uses TypeScript" in {str(row) for row in fact.relationships.all()}
    assert Fact.objects.live().count() == len(TALK) + 1


def test_a_sentence_about_selene_is_kept_in_the_users_words_where_the_model_makes_it_one_about_the_user(
    told, clock, scripted, add_exchange
):
    scripted.completions.extend(["language: User writes in TypeScript", "ADD"])
    add_exchange("Selene is written in TypeScript.")
    run_extraction_jobs(clock)
    fact = Fact.objects.live().get(text="Selene is written in TypeScript")
    assert (fact.category, fact.kind) == ("project", "building")
    assert "Selene uses TypeScript" in {str(row) for row in fact.relationships.all()}
    assert Fact.objects.live().count() == len(TALK) + 1


def test_a_question_about_the_graph_is_answered(told, client, owner):
    from chat.memory.graph_answers import answer_question

    assert answer_question(owner, "What am I building?").sentence == "You work on Selene."
    assert answer_question(owner, "What do I struggle with?").sentence == "You struggle with time blindness."
    assert "Selene is for ADHD" in answer_question(owner, "Selene").sentence
