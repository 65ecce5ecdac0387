"""Undo of a deletion restores facts and reconciles them with facts learned in the meantime."""

from __future__ import annotations

import itertools

import pytest

from chat.actions import deletions, graph
from chat.actions.facts import add_fact, pin_fact
from chat.errors import Refused
from chat.models import Fact, FactEvent

pytestmark = pytest.mark.django_db


@pytest.fixture
def make_home_fact(make_fact):
    def make(city: str, **fields) -> Fact:
        return make_fact(f"User lives in {city}", kind="home", category="identity", **fields)

    return make


def test_undo_reports_restored_merged_and_superseded_facts(clock, owner, make_fact, make_home_fact):
    tea, chess, oslo = make_fact("User likes tea"), make_fact("User likes chess"), make_home_fact("Oslo")
    deletion = deletions.forget_facts(owner, [tea.pk, chess.pk, oslo.pk])
    clock(1)
    add_fact(owner, "user likes CHESS!")
    add_fact(owner, "I live in Bergen")
    undone = deletions.undo_deletion(deletion)
    assert (undone.returned, undone.merged, undone.superseded) == ([tea], [chess], [oslo])
    assert undone.sentence == (
        "Brought back 1 memory. 1 had been learned again in the meantime, so the two were merged. "
        "“Lives in Oslo” had been replaced by a newer memory in the meantime."
    )


def test_undo_counts_the_restored_facts(clock, owner, make_fact):
    facts = [make_fact(f"User likes number {i}") for i in range(3)]
    assert (
        deletions.undo_deletion(deletions.forget_facts(owner, [f.pk for f in facts])).sentence
        == "Brought back 3 memories."
    )


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_undo_in_any_order_leaves_one_live_single_valued_fact(clock, owner, order):
    batches = []
    for city in ("Oslo", "Bergen", "Rome"):
        fact = add_fact(owner, f"I live in {city}")
        batches.append(deletions.forget_facts(owner, [fact.pk]))
        clock(0.5)
    for i in order:
        deletions.undo_deletion(batches[i])
        assert Fact.objects.live().filter(kind="home").count() == 1
    live = Fact.objects.live().get(kind="home")
    # The newest value stays live, regardless of the order of the undos.
    assert live.text == "I live in Rome"
    assert Fact.objects.filter(superseded_at__isnull=False).count() == 2


def test_the_restored_value_joins_the_supersession_chain(clock, owner, make_home_fact):
    oslo = make_home_fact("Oslo")
    deletion = deletions.forget_facts(owner, [oslo.pk])
    clock(1)
    add_fact(owner, "I live in Bergen")
    newest = add_fact(owner, "I live in Rome")
    deletions.undo_deletion(deletion)
    newest.refresh_from_db()
    assert newest.supersedes.text == "I live in Bergen"
    assert newest.supersedes.supersedes == oslo


def test_a_merged_fact_keeps_the_history_of_both(clock, owner, make_fact):
    fact = add_fact(owner, "I like chess")
    deletion = deletions.forget_facts(owner, [fact.pk])
    clock(1)
    add_fact(owner, "I like chess")
    deletions.undo_deletion(deletion)
    kinds = FactEvent.objects.filter(fact=fact).order_by("created_at").values_list("kind", flat=True)
    assert sorted(kinds) == ["add", "add", "delete", "restore"]


def test_a_merge_keeps_one_pin(clock, owner, make_fact):
    fact = make_fact("User likes chess", pinned=True)
    deletion = deletions.forget_facts(owner, [fact.pk])
    clock(1)
    pin_fact(add_fact(owner, "User likes chess"), True)
    deletions.undo_deletion(deletion)
    assert Fact.objects.filter(pinned=True).get() == fact


def test_the_pin_moves_to_the_newer_value(clock, owner, make_home_fact):
    deletion = deletions.forget_facts(owner, [make_home_fact("Oslo", pinned=True).pk])
    clock(1)
    bergen = add_fact(owner, "I live in Bergen")
    deletions.undo_deletion(deletion)
    assert Fact.objects.filter(pinned=True).get() == bergen


def test_undo_keeps_the_limits_of_ten_pins_and_150_facts(clock, owner, make_fact):
    pinned = [make_fact(f"User likes number {i}", pinned=i < 10) for i in range(150)]
    deletion = deletions.forget_facts(owner, [f.pk for f in pinned[:20]])
    clock(1)
    with pytest.raises(Refused):
        pin_fact(pinned[30], True)
    for i in range(5):
        add_fact(owner, f"I like letter {i}")
    assert Fact.objects.live().count() == 135
    undone = deletions.undo_deletion(deletion)
    assert set(undone.returned) == set(pinned[:20])
    assert Fact.objects.live().count() == 150
    assert Fact.objects.filter(pinned=True).count() == 10


def test_superseded_facts_are_deleted_and_restored_with_their_successor(clock, owner, make_home_fact):
    oslo = make_home_fact("Oslo")
    bergen = add_fact(owner, "I live in Bergen")
    deletion = deletions.forget_facts(owner, [bergen.pk])
    oslo.refresh_from_db()
    assert oslo.deletion == deletion
    undone = deletions.undo_deletion(deletion)
    oslo.refresh_from_db()
    assert undone.returned == [bergen]
    assert (oslo.deletion, oslo.superseded_at is None) == (None, False)


def test_undo_restores_an_archived_fact_to_the_archive(clock, owner, make_fact):
    evicted = make_fact("User likes tea", archived_at=clock(0))
    undone = deletions.undo_deletion(deletions.forget_facts(owner, [evicted.pk]))
    assert list(Fact.objects.archived()) == [evicted]
    assert undone.sentence


def test_undo_updates_the_graph(clock, owner):
    fact = add_fact(owner, "I live in Oslo")
    deletion = deletions.forget_facts(owner, [fact.pk])
    clock(1)
    add_fact(owner, "I live in Bergen")
    deletions.undo_deletion(deletion)
    valid = {r.target.name: r.valid for r in graph.Relationship.objects.visible()}
    assert valid == {"Oslo": False, "Bergen": True}


def test_an_interrupted_undo_rolls_back(clock, owner, make_fact, monkeypatch):
    fact = make_fact("User likes chess")
    deletion = deletions.forget_facts(owner, [fact.pk])

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(deletions, "restore_facts", interrupt)
    with pytest.raises(KeyboardInterrupt):
        deletions.undo_deletion(deletion)
    deletion.refresh_from_db()
    assert deletion.state == "pending"
    assert not Fact.objects.live().exists()
