"""The entity graph's page: a picture, a list that leads to cards, and answers; only of whoever asks."""

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
def known(make_fact):
    def make(text, kind, **fields):
        fact = make_fact(text, kind=kind, **fields)
        graph.follow(fact)
        return fact

    return make


@pytest.fixture
def page(ours):
    return lambda question="": ours.get(reverse("memory_graph"), {"q": question}).content.decode()


def test_an_empty_graph_shows_the_owner_alone_and_says_what_will_come(owner, page):
    text = page()
    assert "Nothing to draw yet." in text
    assert text.count('role="img"') == 2
    assert 'class="thing"' not in text


def test_what_is_known_stands_in_the_picture_and_in_the_list_with_a_link_to_its_card(page, known):
    fact = known("User likes Rust", "likes")
    text = page()
    assert 'class="name"' in text
    assert f'href="/memory/#fact-{fact.pk}"' in text
    assert "You like Rust" in text


def test_what_was_replaced_is_dashed_and_leads_to_what_replaced_it(page, known):
    old = known("User lives in Oslo", "home", superseded_at=timezone.now())
    new = known("User lives in Bergen", "home", supersedes=old)
    text = page()
    assert re.search(rf'href="/memory/#fact-{new.pk}" data-once>You lived in Oslo', text)
    assert re.search(r'class="thing" data-type="place" data-once', text)


def test_what_is_being_forgotten_is_not_shown(owner, page):
    fact = add_fact(owner, "I love Rust")
    deletions.forget(owner, [fact.pk])
    assert "Rust" not in page()


def test_beyond_what_is_readable_the_page_says_how_many_are_left_out(page, known):
    for i in range(40):
        known(f"User likes Thing{i:02}", "likes")
    text = page()
    assert "12 more are in the list." in text
    assert "24 more are in the list." in text
    assert text.count("<strong>") == 40


def test_a_name_is_shown_as_text_whatever_it_is(page, known):
    known("User is building an app called <b>Fork</b>", "building")
    known('User likes "><script>alert(1)</script>', "likes")
    text = page()
    assert "<script>alert" not in text
    assert "<b>" not in text


def test_a_question_is_answered_with_the_edges_that_it_stands_on(page, known):
    known("User likes Rust", "likes")
    known("User likes jazz", "likes")
    text = page("what tools do I like?")
    assert re.search(r'class="said">You like Rust\.<', text)


def test_a_question_that_is_none_of_ours_gets_an_honest_sentence(page):
    assert "The graph cannot answer that." in page("How will the weather be tomorrow in the north?")


def test_htmx_gets_the_answer_alone(ours_htmx, known):
    known("User likes Rust", "likes")
    text = ours_htmx.get(reverse("memory_graph"), {"q": "Rust"}).content.decode()
    assert "You like Rust." in text
    assert "<svg" not in text
    assert "<html" not in text


def test_everybody_sees_and_is_answered_from_their_own_graph_alone(server_mode, owner, other, logged_in):
    add_fact(owner, "I love Zanzibar")
    add_fact(other, "I love Python")
    mine, theirs = logged_in(owner), logged_in(other)
    for question in ("", "What do I like?", "Zanzibar", "Python"):
        assert "You like Zanzibar" not in theirs.get("/memory/graph/", {"q": question}).content.decode()
        assert "You like Python" not in mine.get("/memory/graph/", {"q": question}).content.decode()
    assert "You like Zanzibar" in mine.get("/memory/graph/").content.decode()
    assert "You like Python" in theirs.get("/memory/graph/").content.decode()


def test_the_page_asks_the_database_as_often_for_many_things_as_for_few(
    page, known, django_assert_max_num_queries
):
    for i in range(30):
        known(f"User likes Thing{i:02}", "likes")
    with django_assert_max_num_queries(12):
        page()
    assert Fact.objects.count() == 30


def test_the_panel_leads_to_the_graph(ours, owner):
    assert reverse("memory_graph") in ours.get(reverse("memory")).content.decode()
