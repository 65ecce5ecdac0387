"""Questions are answered from the graph in sentences."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import graph
from chat.memory.graph_answers import answer_question
from tests.small_model import load_real_embedder

pytestmark = pytest.mark.django_db
FACTS = [
    ("likes", "User likes Rust and jazz"),
    ("likes", "User loves Neovim"),
    ("tools", "User uses Inkscape"),
    ("dislikes", "User hates Jira"),
    ("home", "User lives in Bergen"),
    ("building", "User is building a recipe app called Fork written in Rust"),
    ("family", "User's sister Ada lives in Accra"),
    ("family", "User has twins, Noor and Sami"),
    ("pet", "User has a parrot called Coco"),
]


@pytest.fixture
def stored_facts(owner, make_fact):
    for kind, text in FACTS:
        graph.sync_fact(make_fact(text, kind=kind))
    graph.sync_fact(make_fact("User lives in Oslo", kind="home", superseded_at=timezone.now()))
    return owner


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What tools do I like?", "You like Neovim and Rust."),
        ("Welche Werkzeuge mag ich?", "You like Neovim and Rust."),
        ("我喜欢什么工具？", "You like Neovim and Rust."),
        ("Where do I live?", "You live in Bergen."),
        ("Where have I lived?", "You live in Bergen. You lived in Oslo."),
        ("Who is in my family?", "Your children: Noor and Sami. Your sister: Ada."),
        ("What am I building?", "You work on Fork."),
        ("What does Fork use?", "Fork uses Rust."),
        ("Who is Ada?", "Your sister: Ada. Ada lives in Accra."),
        ("What do I know about Rust?", "Fork uses Rust. You like Rust."),
        ("What do I dislike?", "You dislike Jira."),
        ("Who is Coco?", "You have a pet: Coco. Coco: parrot."),
        ("Who is Zelda?", "Nothing is remembered about “Zelda”."),
        ("What am I allergic to?", "Nothing is remembered about that yet."),
    ],
)
def test_a_question_gets_a_plain_sentence(stored_facts, question, sentence):
    found = answer_question(stored_facts, question)
    assert found.sentence == sentence
    assert found.understood


def test_a_question_that_is_not_recognised_has_no_edges(stored_facts):
    found = answer_question(stored_facts, "Why is the sky blue?")
    assert not found.understood
    assert found.edges == ()


def test_a_name_is_found_by_a_part_of_it(owner, make_fact):
    graph.sync_fact(make_fact("User works at Nordic Wind", kind="employer"))
    assert answer_question(owner, "Tell me about Nordic").sentence == "You work at Nordic Wind."


def test_another_owners_graph_answers_nothing(stored_facts, other):
    assert answer_question(other, "What tools do I like?").sentence == "Nothing is remembered about that yet."
    assert answer_question(other, "Who is Ada?").edges == []


@pytest.mark.model
def test_an_unknown_name_means_the_entity_that_is_nearest_by_meaning(stored_facts, make_fact):
    graph.sync_fact(make_fact("User admires Linear for its keyboard shortcuts", kind="likes"))
    embedder = load_real_embedder()
    entities = graph.find_entities_without_vector(embedder.name)
    graph.store_entity_vectors(
        entities, list(embedder.embed([entity.name for entity in entities])), embedder.name
    )
    found = answer_question(stored_facts, "What do I know about hotkeys?", embedder)
    assert found.sentence == "Linear has good keyboard shortcuts."
    assert answer_question(stored_facts, "Who is Zelda?", embedder).edges == []
    assert answer_question(stored_facts, "What do I know about hotkeys?").edges == []
