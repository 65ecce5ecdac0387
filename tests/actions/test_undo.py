"""What undo brings back, beside what was learned meanwhile (design §5, "Undo and forget")."""

from __future__ import annotations

import itertools

import pytest

from chat.actions import deletions, graph
from chat.actions.facts import add_fact, pin_fact
from chat.actions.messages import Refused
from chat.models import Fact, FactEvent

pytestmark = pytest.mark.django_db


@pytest.fixture
def home(make_fact):
    def make(city: str, **fields) -> Fact:
        return make_fact(f"User lives in {city}", kind="home", category="identity", **fields)

    return make


def test_it_tells_what_came_back_and_how(clock, owner, make_fact, home):
    tea, chess, oslo = make_fact("User likes tea"), make_fact("User likes chess"), home("Oslo")
    deletion = deletions.forget(owner, [tea.pk, chess.pk, oslo.pk])
    clock(1)
    add_fact(owner, "user likes CHESS!")
    add_fact(owner, "I live in Bergen")
    undone = deletions.undo(deletion)
    assert (undone.returned, undone.merged, undone.superseded) == ([tea], [chess], [oslo])
    assert undone.sentence == (
        "Brought back 1 memory. 1 was learned again meanwhile and is one with it now. "
        "“Lives in Oslo” was replaced by something newer meanwhile."
    )


def test_several_that_come_back_as_they_were_are_counted(clock, owner, make_fact):
    facts = [make_fact(f"User likes number {i}") for i in range(3)]
    assert (
        deletions.undo(deletions.forget(owner, [f.pk for f in facts])).sentence == "Brought back 3 memories."
    )


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_single_values_in_several_batches_never_leave_two_in_whatever_order_they_return(clock, owner, order):
    batches = []
    for city in ("Oslo", "Bergen", "Rome"):
        fact = add_fact(owner, f"I live in {city}")
        batches.append(deletions.forget(owner, [fact.pk]))
        clock(0.5)
    for i in order:
        deletions.undo(batches[i])
        assert Fact.objects.live().filter(kind="home").count() == 1
    live = Fact.objects.live().get(kind="home")
    # The value that was learned last stays, whichever batch came back last.
    assert live.text == "I live in Rome"
    assert Fact.objects.filter(superseded_at__isnull=False).count() == 2


def test_the_superseded_one_can_be_reached_from_the_newer_one(clock, owner, home):
    oslo = home("Oslo")
    deletion = deletions.forget(owner, [oslo.pk])
    clock(1)
    add_fact(owner, "I live in Bergen")
    newest = add_fact(owner, "I live in Rome")
    deletions.undo(deletion)
    newest.refresh_from_db()
    assert newest.supersedes.text == "I live in Bergen"
    assert newest.supersedes.supersedes == oslo


def test_a_merged_fact_keeps_the_history_of_both(clock, owner, make_fact):
    fact = add_fact(owner, "I like chess")
    deletion = deletions.forget(owner, [fact.pk])
    clock(1)
    add_fact(owner, "I like chess")
    deletions.undo(deletion)
    kinds = FactEvent.objects.filter(fact=fact).order_by("created_at").values_list("kind", flat=True)
    assert sorted(kinds) == ["add", "add", "delete", "restore"]


def test_a_merge_keeps_one_pin(clock, owner, make_fact):
    fact = make_fact("User likes chess", pinned=True)
    deletion = deletions.forget(owner, [fact.pk])
    clock(1)
    pin_fact(add_fact(owner, "User likes chess"), True)
    deletions.undo(deletion)
    assert Fact.objects.filter(pinned=True).get() == fact


def test_the_pin_moves_to_the_newer_value(clock, owner, home):
    deletion = deletions.forget(owner, [home("Oslo", pinned=True).pk])
    clock(1)
    bergen = add_fact(owner, "I live in Bergen")
    deletions.undo(deletion)
    assert Fact.objects.filter(pinned=True).get() == bergen


def test_pins_stay_ten_and_facts_a_hundred_and_fifty(clock, owner, make_fact):
    pinned = [make_fact(f"User likes number {i}", pinned=i < 10) for i in range(150)]
    deletion = deletions.forget(owner, [f.pk for f in pinned[:20]])
    clock(1)
    with pytest.raises(Refused):
        pin_fact(pinned[30], True)
    for i in range(5):
        add_fact(owner, f"I like letter {i}")
    assert Fact.objects.live().count() == 135
    undone = deletions.undo(deletion)
    assert set(undone.returned) == set(pinned[:20])
    assert Fact.objects.live().count() == 150
    assert Fact.objects.filter(pinned=True).count() == 10


def test_what_had_been_replaced_goes_and_returns_with_its_fact(clock, owner, home):
    oslo = home("Oslo")
    bergen = add_fact(owner, "I live in Bergen")
    deletion = deletions.forget(owner, [bergen.pk])
    oslo.refresh_from_db()
    assert oslo.deletion == deletion
    undone = deletions.undo(deletion)
    oslo.refresh_from_db()
    assert undone.returned == [bergen]
    assert (oslo.deletion, oslo.superseded_at is None) == (None, False)


def test_an_archived_fact_can_be_forgotten_and_returns_to_the_archive(clock, owner, make_fact):
    evicted = make_fact("User likes tea", archived_at=clock(0))
    undone = deletions.undo(deletions.forget(owner, [evicted.pk]))
    assert list(Fact.objects.archived()) == [evicted]
    assert undone.sentence


def test_the_graph_follows(clock, owner):
    fact = add_fact(owner, "I live in Oslo")
    deletion = deletions.forget(owner, [fact.pk])
    clock(1)
    add_fact(owner, "I live in Bergen")
    deletions.undo(deletion)
    valid = {r.target.name: r.valid for r in graph.Relationship.objects.visible()}
    assert valid == {"Oslo": False, "Bergen": True}


def test_an_undo_that_fails_half_way_changes_nothing(clock, owner, make_fact, monkeypatch):
    fact = make_fact("User likes chess")
    deletion = deletions.forget(owner, [fact.pk])

    def killed(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(deletions, "bring_back_batch", killed)
    with pytest.raises(KeyboardInterrupt):
        deletions.undo(deletion)
    deletion.refresh_from_db()
    assert deletion.state == "pending"
    assert not Fact.objects.live().exists()
