"""The entity graph stays in step with facts that are added, edited, archived, restored and deleted."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import deletions, graph
from chat.actions.facts import add_fact, edit_fact, store_classification
from chat.actions.jobs import enqueue
from chat.jobs.runner import run_due
from chat.models import Entity, Fact, Relationship

pytestmark = pytest.mark.django_db


def list_relationships(owner):
    """Return the owner's relationships as sorted texts; obsolete relationships are in parentheses."""
    rows = Relationship.objects.for_owner(owner).visible()
    return sorted(str(r) if r.valid else f"({r})" for r in rows)


@pytest.fixture
def make_graph_fact(make_fact):
    """Return a function that creates a fact and adds it to the graph."""

    def make(text, **fields):
        fact = make_fact(text, **fields)
        graph.sync_fact(fact)
        return fact

    return make


def test_an_added_fact_is_in_the_graph_immediately(owner):
    add_fact(owner, "I love Rust")
    assert list_relationships(owner) == ["User likes Rust"]
    assert Entity.objects.get().type == "tool"


def test_facts_about_one_thing_share_an_entity_regardless_of_case(owner, make_graph_fact):
    make_graph_fact("User likes Rust")
    make_graph_fact("User is learning rust", kind="learning", category="project")
    assert Entity.objects.count() == 1
    assert list_relationships(owner) == ["User learns Rust", "User likes Rust"]


def test_an_entity_type_only_becomes_more_specific(owner, make_graph_fact):
    make_graph_fact("User likes Aljezur")
    assert Entity.objects.get().type == "concept"
    make_graph_fact("User lives in Aljezur", kind="home", category="identity")
    assert Entity.objects.get().type == "place"
    make_graph_fact("User enjoys Aljezur")
    assert Entity.objects.get().type == "place"


def test_syncing_a_fact_twice_changes_nothing(owner, make_graph_fact):
    fact = make_graph_fact("User is building Orbit with Django", kind="building", category="project")
    before = list(Relationship.objects.order_by("pk").values())
    graph.sync_fact(fact)
    assert list(Relationship.objects.order_by("pk").values()) == before
    assert list_relationships(owner) == ["Orbit uses Django", "User builds Orbit"]


@pytest.mark.parametrize("field", ["superseded_at", "archived_at"])
def test_relationships_become_obsolete_and_valid_again_with_their_fact(owner, make_graph_fact, field):
    fact = make_graph_fact("User lives in Oslo", kind="home", category="identity")
    Fact.objects.filter(pk=fact.pk).update(**{field: timezone.now()})
    graph.sync_fact(fact)
    assert list_relationships(owner) == ["(User lives_in Oslo)"]
    Fact.objects.filter(pk=fact.pk).update(**{field: None})
    graph.sync_fact(fact)
    assert list_relationships(owner) == ["User lives_in Oslo"]


def test_an_edit_makes_the_old_relationships_obsolete(owner):
    fact = add_fact(owner, "I live in Oslo")
    edit_fact(fact, "I live in Bergen")
    assert list_relationships(owner) == ["(User lives_in Oslo)", "User lives_in Bergen"]
    edit_fact(fact, "I live in Oslo")
    assert list_relationships(owner) == ["(User lives_in Bergen)", "User lives_in Oslo"]


def test_a_changed_classification_removes_the_old_relationship(owner):
    fact = add_fact(owner, "I love Rust")
    store_classification(fact.pk, fact.version, kind="dislikes", subject="", vector=None, embedder="")
    assert "User likes Rust" not in " ".join(list_relationships(owner))


def test_relationships_are_hidden_by_a_deletion_and_return_with_undo(owner):
    fact = add_fact(owner, "I live in Oslo")
    deletion = deletions.forget_facts(owner, [fact.pk])
    assert list_relationships(owner) == []
    deletions.undo_deletion(deletion)
    assert list_relationships(owner) == ["User lives_in Oslo"]


def test_a_finished_deletion_removes_entities_without_other_facts(owner, make_graph_fact):
    fact = make_graph_fact("User is building Orbit with Django", kind="building", category="project")
    make_graph_fact("User likes Django")
    deletion = deletions.forget_facts(owner, [fact.pk])
    assert deletions.finish_deletion(deletion.pk, timezone.now() + timedelta(seconds=10))
    assert list(Entity.objects.values_list("name", flat=True)) == ["Django"]
    assert list_relationships(owner) == ["User likes Django"]


def test_orphans_of_other_owners_stay(owner, other):
    Entity.objects.create(owner=other, name="Oslo", key="oslo", type="place")
    assert graph.delete_orphans(owner) == 0
    assert Entity.objects.for_owner(other).count() == 1


def test_two_owners_never_share_an_entity(owner, other):
    add_fact(owner, "I love Rust")
    add_fact(other, "I love Rust")
    assert Entity.objects.for_owner(owner).count() == Entity.objects.for_owner(other).count() == 1
    assert list_relationships(other) == ["User likes Rust"]


def test_a_job_adds_older_facts_to_the_graph(owner, make_fact, monkeypatch):
    monkeypatch.setattr(graph, "BATCH", 2)
    old = make_fact("User lives in Lima", kind="home", superseded_at=timezone.now())
    for name in ("jazz", "tea", "chess", "rain"):
        make_fact(f"User likes {name}")
    enqueue("catch_up_graph", {}, key="catch_up_graph")
    assert run_due({"catch_up_graph"}) >= 2
    assert list_relationships(owner) == [
        "(User lives_in Lima)",
        "User likes chess",
        "User likes jazz",
        "User likes rain",
        "User likes tea",
    ]
    assert old.relationships.get().created_at == old.first_seen


def test_syncing_removes_entities_without_relationships(owner, make_graph_fact):
    fact = make_graph_fact("User likes jazz")
    fact.relationships.all().delete()
    Fact.objects.filter(pk=fact.pk).update(text="User likes chess")
    graph.sync_facts(owner, [fact])
    assert list(Entity.objects.values_list("name", flat=True)) == ["chess"]


def test_a_deleted_name_leaves_the_graph_even_if_another_fact_had_it_before(owner):
    stays = add_fact(owner, "I live in Oslo")
    edit_fact(stays, "I live in Bergen")
    goes = add_fact(owner, "I love Oslo")
    assert "(User lives_in Oslo)" in list_relationships(owner)
    deletion = deletions.forget_facts(owner, [goes.pk])
    assert deletions.finish_deletion(deletion.pk, timezone.now() + timedelta(seconds=10))
    assert list_relationships(owner) == ["User lives_in Bergen"]
    assert list(Entity.objects.values_list("name", flat=True)) == ["Bergen"]


def test_clear_all_empties_the_graph_and_undo_restores_it(owner):
    add_fact(owner, "I live in Oslo")
    add_fact(owner, "I live in Bergen")
    before = list_relationships(owner)
    assert before == ["(User lives_in Oslo)", "User lives_in Bergen"]
    deletion = deletions.clear_memory(owner)
    assert list_relationships(owner) == []
    deletions.undo_deletion(deletion)
    assert list_relationships(owner) == before
    deletion = deletions.clear_memory(owner)
    assert deletions.finish_deletion(deletion.pk, timezone.now() + timedelta(seconds=20))
    assert Entity.objects.count() == Relationship.objects.count() == 0
