"""The page of the entity graph: a drawing, a list that links to cards, and answers, only for its owner."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from chat.actions import deletions, graph
from chat.actions.facts import add_fact
from chat.models import Fact

pytestmark = pytest.mark.django_db


@pytest.fixture
def make_graph_fact(make_fact):
    def make(text, kind, **fields):
        fact = make_fact(text, kind=kind, **fields)
        graph.sync_fact(fact)
        return fact

    return make


@pytest.fixture
def page(ours):
    return lambda question="": ours.get(reverse("memory_graph"), {"q": question}).content.decode()


def test_an_empty_graph_shows_only_the_owner_and_an_explanation(owner, page):
    text = page()
    assert "Nothing to draw yet." in text
    assert text.count('role="img"') == 2
    assert 'class="entity"' not in text


def test_facts_are_drawn_and_listed_with_links_to_their_cards(page, make_graph_fact):
    fact = make_graph_fact("User likes Rust", "likes")
    text = page()
    assert 'class="name"' in text
    assert f'href="/memory/#fact-{fact.pk}"' in text
    assert "You like Rust" in text


def test_replaced_facts_are_dashed_and_link_to_the_newer_fact(page, make_graph_fact):
    old = make_graph_fact("User lives in Oslo", "home", superseded_at=timezone.now())
    new = make_graph_fact("User lives in Bergen", "home", supersedes=old)
    text = page()
    assert re.search(rf'href="/memory/#fact-{new.pk}" data-ended>You lived in Oslo', text)
    assert re.search(r'class="entity" data-type="place" data-ended', text)


def test_facts_that_are_being_forgotten_are_not_shown(owner, page):
    fact = add_fact(owner, "I love Rust")
    deletions.forget_facts(owner, [fact.pk])
    assert "Rust" not in page()


def test_a_large_graph_is_cut_and_says_how_many_are_left_out(page, make_graph_fact):
    for i in range(40):
        make_graph_fact(f"User likes Thing{i:02}", "likes")
    text = page()
    assert "12 more are in the list." in text
    assert "24 more are in the list." in text
    assert text.count("<strong>") == 40


def test_names_are_escaped(page, make_graph_fact):
    make_graph_fact("User is building an app called <b>Fork</b>", "building")
    make_graph_fact('User likes "><script>alert(1)</script>', "likes")
    text = page()
    assert "<script>alert" not in text
    assert "<b>" not in text


def test_a_question_is_answered_from_the_matching_edges(page, make_graph_fact):
    make_graph_fact("User likes Rust", "likes")
    make_graph_fact("User likes jazz", "likes")
    text = page("what tools do I like?")
    assert re.search(r'class="answer-text">You like Rust\.<', text)


def test_an_unsupported_question_is_refused(page):
    assert "The graph cannot answer that." in page("How will the weather be tomorrow in the north?")


def test_htmx_gets_only_the_answer(ours_htmx, make_graph_fact):
    make_graph_fact("User likes Rust", "likes")
    text = ours_htmx.get(reverse("memory_graph"), {"q": "Rust"}).content.decode()
    assert "You like Rust." in text
    assert "<svg" not in text
    assert "<html" not in text


def test_each_user_sees_and_queries_only_their_own_graph(server_mode, owner, other, logged_in):
    add_fact(owner, "I love Zanzibar")
    add_fact(other, "I love Python")
    mine, theirs = logged_in(owner), logged_in(other)
    for question in ("", "What do I like?", "Zanzibar", "Python"):
        assert "You like Zanzibar" not in theirs.get("/memory/graph/", {"q": question}).content.decode()
        assert "You like Python" not in mine.get("/memory/graph/", {"q": question}).content.decode()
    assert "You like Zanzibar" in mine.get("/memory/graph/").content.decode()
    assert "You like Python" in theirs.get("/memory/graph/").content.decode()


def test_the_number_of_queries_does_not_grow_with_the_facts(
    page, make_graph_fact, django_assert_max_num_queries
):
    for i in range(30):
        make_graph_fact(f"User likes Thing{i:02}", "likes")
    with django_assert_max_num_queries(12):
        page()
    assert Fact.objects.count() == 30


def test_the_panel_links_to_the_graph(ours, owner):
    assert reverse("memory_graph") in ours.get(reverse("memory")).content.decode()
