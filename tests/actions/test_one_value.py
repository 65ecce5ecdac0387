"""One live value for a single-valued kind and subject, through whatever door it came; no text twice."""

from __future__ import annotations

import pytest

from chat.actions import facts
from chat.actions.facts import add_fact, edit_fact
from chat.models import Fact, FactEvent

pytestmark = pytest.mark.django_db


@pytest.fixture
def oslo(make_fact):
    return make_fact("User lives in Oslo", kind="home", category="identity", pinned=True)


def test_a_fact_added_by_hand_takes_the_place_of_the_live_one_with_its_pin(owner, oslo):
    bergen = add_fact(owner, "I live in Bergen")
    oslo.refresh_from_db()
    bergen.refresh_from_db()
    assert Fact.objects.live().get() == bergen
    assert (bergen.supersedes, bergen.pinned, oslo.pinned) == (oslo, True, False)
    assert {(e.kind, e.fact_id) for e in FactEvent.objects.all()} == {
        ("add", bergen.pk),
        ("supersede", oslo.pk),
    }
    event = FactEvent.objects.get(kind="supersede")
    assert (event.actor, event.reason) == ("user", "one of its kind at a time")
    assert (event.before["pinned"], event.after["pinned"]) == (True, False)


def test_values_of_different_subjects_stand_side_by_side(make_fact, owner):
    for subject in ("boat", "thesis"):
        make_fact(f"The {subject} is due", kind="deadline", category="project", subject=subject)
    add_fact(owner, "I like tea")
    assert Fact.objects.live().count() == 3


def test_another_persons_value_stands(owner, other, make_fact):
    theirs = make_fact("User lives in Oslo", kind="home", category="identity", owner=other)
    add_fact(owner, "I live in Bergen")
    assert theirs in Fact.objects.live()


def test_the_models_own_sorting_makes_the_older_value_give_way(clock, owner, oslo):
    clock(1)
    added = add_fact(owner, "Bergen is where my bed stands")
    assert Fact.objects.live().count() == 2
    facts.settle(added.pk, 1, kind="home", subject="", vector=None, embedder="")
    added.refresh_from_db()
    assert Fact.objects.live().get() == added
    assert (added.kind, added.supersedes) == ("home", oslo)


def test_a_value_that_was_learned_while_the_model_sorted_stays(clock, owner, oslo):
    clock(1)
    added = add_fact(owner, "Bergen is where my bed stands")
    clock(1)
    rome = add_fact(owner, "I live in Rome")
    facts.settle(added.pk, 1, kind="home", subject="", vector=None, embedder="")
    assert Fact.objects.live().get() == rome
    rome.refresh_from_db()
    added.refresh_from_db()
    assert (rome.supersedes, oslo.supersedes) == (oslo, None)
    oslo.refresh_from_db()
    assert oslo.supersedes == added


def test_sorting_what_is_on_its_way_out_replaces_nothing(clock, owner, oslo):
    from chat.actions import deletions

    added = add_fact(owner, "Bergen is where my bed stands")
    deletion = deletions.forget(owner, [added.pk])
    facts.settle(added.pk, 1, kind="home", subject="", vector=None, embedder="")
    assert Fact.objects.live().get() == oslo
    deletions.undo(deletion)
    assert Fact.objects.live().filter(kind="home").count() == 1


def test_an_edit_that_makes_two_of_one_kind_leaves_the_edited_one(make_fact, oslo):
    event = make_fact("User moved", kind="event", category="identity")
    edited = edit_fact(event, "User lives in Bergen")
    assert edited.kind == "home"
    assert Fact.objects.live().get() == edited


def test_an_edit_to_the_words_of_another_fact_makes_them_one(make_fact):
    chess = make_fact("User likes chess", confidence=0.75)
    go = make_fact("User likes go", pinned=True)
    says = edit_fact(go, "user likes CHESS!")
    go.refresh_from_db()
    assert says == Fact.objects.live().get() == chess
    assert (says.mention_count, says.confidence, says.pinned) == (2, 0.9, True)
    assert (go.superseded_at is None, go.text, says.supersedes) == (False, "User likes go", go)
    reason = "corrected to words that are known already"
    assert set(FactEvent.objects.values_list("fact", "kind", "actor", "reason")) == {
        (chess.pk, "reinforce", "user", reason),
        (go.pk, "supersede", "user", reason),
    }


def test_an_edit_of_its_own_punctuation_is_no_merge(make_fact):
    fact = make_fact("User likes chess")
    assert edit_fact(fact, "User likes chess!") == fact
    assert Fact.objects.live().get().text == "User likes chess!"


def test_an_edited_text_that_is_of_another_kind_on_the_same_shelf_gets_that_kind(make_fact):
    fact = make_fact("User likes vegetables", kind="likes")
    assert edit_fact(fact, "User is vegetarian").kind == "diet"


def test_an_archived_fact_cannot_be_edited_or_pinned(clock, make_fact):
    archived = make_fact("User likes chess", archived_at=clock(0))
    with pytest.raises(facts.Refused, match="Bring it back first"):
        edit_fact(archived, "User likes go")
    with pytest.raises(facts.Refused, match="Bring it back first"):
        facts.pin_fact(archived, True)
