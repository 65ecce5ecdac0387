"""The entity graph follows its facts: it grows, becomes obsolete, comes back and is forgotten with them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import deletions, graph
from chat.actions.facts import add_fact, edit_fact, settle
from chat.actions.jobs import enqueue
from chat.jobs.runner import run_due
from chat.models import Entity, Fact, Relationship

pytestmark = pytest.mark.django_db


def drawn(owner):
    """Return the owner's relationships as words, obsolete ones in brackets."""
    rows = Relationship.objects.for_owner(owner).visible()
    return sorted(str(r) if r.valid else f"({r})" for r in rows)


@pytest.fixture
def known(make_fact):
    """Returns a maker of facts that the graph has read."""

    def make(text, **fields):
        fact = make_fact(text, **fields)
        graph.follow(fact)
        return fact

    return make


def test_a_fact_added_by_hand_is_in_the_graph_at_once(owner):
    add_fact(owner, "I love Rust")
    assert drawn(owner) == ["User likes Rust"]
    assert Entity.objects.get().type == "tool"


def test_two_facts_about_one_thing_share_one_entity_whatever_the_letters(owner, known):
    known("User likes Rust")
    known("User is learning rust", kind="learning", category="project")
    assert Entity.objects.count() == 1
    assert drawn(owner) == ["User learns Rust", "User likes Rust"]


def test_a_concept_becomes_more_specific_and_never_the_other_way_round(owner, known):
    known("User likes Aljezur")
    assert Entity.objects.get().type == "concept"
    known("User lives in Aljezur", kind="home", category="identity")
    assert Entity.objects.get().type == "place"
    known("User enjoys Aljezur")
    assert Entity.objects.get().type == "place"


def test_following_twice_changes_nothing(owner, known):
    fact = known("User is building Orbit with Django", kind="building", category="project")
    before = list(Relationship.objects.order_by("pk").values())
    graph.follow(fact)
    assert list(Relationship.objects.order_by("pk").values()) == before
    assert drawn(owner) == ["Orbit uses Django", "User builds Orbit"]


@pytest.mark.parametrize("field", ["superseded_at", "archived_at"])
def test_a_fact_that_no_longer_stands_leaves_obsolete_ties_that_come_back_with_it(owner, known, field):
    fact = known("User lives in Oslo", kind="home", category="identity")
    Fact.objects.filter(pk=fact.pk).update(**{field: timezone.now()})
    graph.follow(fact)
    assert drawn(owner) == ["(User lives_in Oslo)"]
    Fact.objects.filter(pk=fact.pk).update(**{field: None})
    graph.follow(fact)
    assert drawn(owner) == ["User lives_in Oslo"]


def test_an_edit_makes_what_the_fact_no_longer_says_obsolete(owner):
    fact = add_fact(owner, "I live in Oslo")
    edit_fact(fact, "I live in Bergen")
    assert drawn(owner) == ["(User lives_in Oslo)", "User lives_in Bergen"]
    edit_fact(fact, "I live in Oslo")
    assert drawn(owner) == ["(User lives_in Bergen)", "User lives_in Oslo"]


def test_a_fact_that_was_sorted_wrongly_leaves_no_trace_of_the_wrong_reading(owner):
    fact = add_fact(owner, "I love Rust")
    settle(fact.pk, fact.version, kind="dislikes", subject="", vector=None, embedder="")
    assert "User likes Rust" not in " ".join(drawn(owner))


def test_what_is_being_forgotten_is_out_of_sight_and_returns_with_undo(owner):
    fact = add_fact(owner, "I live in Oslo")
    deletion = deletions.forget(owner, [fact.pk])
    assert drawn(owner) == []
    deletions.undo(deletion)
    assert drawn(owner) == ["User lives_in Oslo"]


def test_what_is_forgotten_for_good_takes_the_names_that_only_it_knew(owner, known):
    fact = known("User is building Orbit with Django", kind="building", category="project")
    known("User likes Django")
    deletion = deletions.forget(owner, [fact.pk])
    assert deletions.finish(deletion.pk, timezone.now() + timedelta(seconds=10))
    assert list(Entity.objects.values_list("name", flat=True)) == ["Django"]
    assert drawn(owner) == ["User likes Django"]


def test_orphans_of_other_owners_stay(owner, other):
    Entity.objects.create(owner=other, name="Oslo", key="oslo", type="place")
    assert graph.drop_orphans(owner) == 0
    assert Entity.objects.for_owner(other).count() == 1


def test_two_owners_never_share_an_entity(owner, other):
    add_fact(owner, "I love Rust")
    add_fact(other, "I love Rust")
    assert Entity.objects.for_owner(owner).count() == Entity.objects.for_owner(other).count() == 1
    assert drawn(other) == ["User likes Rust"]


def test_facts_from_before_the_graph_are_caught_up_with_by_a_job(owner, make_fact, monkeypatch):
    monkeypatch.setattr(graph, "BATCH", 2)
    old = make_fact("User lives in Lima", kind="home", superseded_at=timezone.now())
    for name in ("jazz", "tea", "chess", "rain"):
        make_fact(f"User likes {name}")
    enqueue("catch_up_graph", {}, key="catch_up_graph")
    assert run_due({"catch_up_graph"}) >= 2
    assert drawn(owner) == [
        "(User lives_in Lima)",
        "User likes chess",
        "User likes jazz",
        "User likes rain",
        "User likes tea",
    ]
    assert old.relationships.get().created_at == old.first_seen


def test_relinking_drops_what_nothing_speaks_of_any_more(owner, known):
    fact = known("User likes jazz")
    fact.relationships.all().delete()
    Fact.objects.filter(pk=fact.pk).update(text="User likes chess")
    graph.relink(owner, [fact])
    assert list(Entity.objects.values_list("name", flat=True)) == ["chess"]


def test_forgotten_words_leave_the_graph_even_where_a_fact_that_stays_once_said_them(owner):
    stays = add_fact(owner, "I live in Oslo")
    edit_fact(stays, "I live in Bergen")
    goes = add_fact(owner, "I love Oslo")
    assert "(User lives_in Oslo)" in drawn(owner)
    deletion = deletions.forget(owner, [goes.pk])
    assert deletions.finish(deletion.pk, timezone.now() + timedelta(seconds=10))
    assert drawn(owner) == ["User lives_in Bergen"]
    assert list(Entity.objects.values_list("name", flat=True)) == ["Bergen"]


def test_after_a_clear_all_nothing_is_left_and_undo_brings_all_of_it_back(owner):
    add_fact(owner, "I live in Oslo")
    add_fact(owner, "I live in Bergen")
    before = drawn(owner)
    assert before == ["(User lives_in Oslo)", "User lives_in Bergen"]
    deletion = deletions.clear_all(owner)
    assert drawn(owner) == []
    deletions.undo(deletion)
    assert drawn(owner) == before
    deletion = deletions.clear_all(owner)
    assert deletions.finish(deletion.pk, timezone.now() + timedelta(seconds=20))
    assert Entity.objects.count() == Relationship.objects.count() == 0
