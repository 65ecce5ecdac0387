"""A single-valued kind and subject has one live fact however it was added; no text is live twice."""

from __future__ import annotations

import pytest

from chat.actions import facts
from chat.actions.facts import add_fact, edit_fact
from chat.models import Fact, FactEvent

pytestmark = pytest.mark.django_db


@pytest.fixture
def oslo(make_fact):
    return make_fact("User lives in Oslo", kind="home", category="identity", pinned=True)


def test_an_added_fact_supersedes_the_live_one_and_takes_its_pin(owner, oslo):
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


def test_values_of_different_subjects_are_all_live(make_fact, owner):
    for subject in ("boat", "thesis"):
        make_fact(f"The {subject} is due", kind="deadline", category="project", subject=subject)
    add_fact(owner, "I like tea")
    assert Fact.objects.live().count() == 3


def test_another_owners_value_stays_live(owner, other, make_fact):
    theirs = make_fact("User lives in Oslo", kind="home", category="identity", owner=other)
    add_fact(owner, "I live in Bergen")
    assert theirs in Fact.objects.live()


def test_a_classification_supersedes_the_older_value(clock, owner, oslo):
    clock(1)
    added = add_fact(owner, "Bergen is where my bed stands")
    assert Fact.objects.live().count() == 2
    facts.store_classification(added.pk, 1, kind="home", subject="", vector=None, embedder="")
    added.refresh_from_db()
    assert Fact.objects.live().get() == added
    assert (added.kind, added.supersedes) == ("home", oslo)


def test_a_value_added_before_the_classification_stays_live(clock, owner, oslo):
    clock(1)
    added = add_fact(owner, "Bergen is where my bed stands")
    clock(1)
    rome = add_fact(owner, "I live in Rome")
    facts.store_classification(added.pk, 1, kind="home", subject="", vector=None, embedder="")
    assert Fact.objects.live().get() == rome
    rome.refresh_from_db()
    added.refresh_from_db()
    assert (rome.supersedes, oslo.supersedes) == (oslo, None)
    oslo.refresh_from_db()
    assert oslo.supersedes == added


def test_classifying_a_fact_pending_deletion_supersedes_nothing(clock, owner, oslo):
    from chat.actions import deletions

    added = add_fact(owner, "Bergen is where my bed stands")
    deletion = deletions.forget_facts(owner, [added.pk])
    facts.store_classification(added.pk, 1, kind="home", subject="", vector=None, embedder="")
    assert Fact.objects.live().get() == oslo
    deletions.undo_deletion(deletion)
    assert Fact.objects.live().filter(kind="home").count() == 1


def test_of_two_values_after_an_edit_the_edited_one_stays_live(make_fact, oslo):
    event = make_fact("User moved", kind="event", category="identity")
    edited = edit_fact(event, "User lives in Bergen")
    assert edited.kind == "home"
    assert Fact.objects.live().get() == edited


def test_an_edit_to_the_text_of_another_fact_merges_them(make_fact):
    chess = make_fact("User likes chess", confidence=0.75)
    go = make_fact("User likes go", pinned=True)
    merged = edit_fact(go, "user likes CHESS!")
    go.refresh_from_db()
    assert merged == Fact.objects.live().get() == chess
    assert (merged.mention_count, merged.confidence, merged.pinned) == (2, 0.9, True)
    assert (go.superseded_at is None, go.text, merged.supersedes) == (False, "User likes go", go)
    reason = "corrected to words that are known already"
    assert set(FactEvent.objects.values_list("fact", "kind", "actor", "reason")) == {
        (chess.pk, "reinforce", "user", reason),
        (go.pk, "supersede", "user", reason),
    }


def test_an_edit_of_punctuation_is_no_merge(make_fact):
    fact = make_fact("User likes chess")
    assert edit_fact(fact, "User likes chess!") == fact
    assert Fact.objects.live().get().text == "User likes chess!"


def test_an_edited_text_gets_another_kind_of_its_category(make_fact):
    fact = make_fact("User likes vegetables", kind="likes")
    assert edit_fact(fact, "User is vegetarian").kind == "diet"


def test_an_archived_fact_cannot_be_edited_or_pinned(clock, make_fact):
    archived = make_fact("User likes chess", archived_at=clock(0))
    with pytest.raises(facts.Refused, match="Bring it back first"):
        edit_fact(archived, "User likes go")
    with pytest.raises(facts.Refused, match="Bring it back first"):
        facts.pin_fact(archived, True)
