"""Several facts at once: all of it or nothing, each with its history."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import deletions
from chat.actions.batches import all_pinned, move_facts, pin_facts
from chat.actions.messages import Refused
from chat.models import Fact, FactEvent, Job

pytestmark = pytest.mark.django_db


@pytest.fixture
def several(make_fact):
    """Three facts."""
    return [make_fact(f"User likes colour {n}", embedding=b"v", embedder="e") for n in range(3)]


def keys(facts):
    """Return the keys of facts."""
    return [fact.pk for fact in facts]


def test_pinning_records_each_and_leaves_what_was_pinned_alone(owner, several):
    pin_facts(owner, keys(several[:1]), True)
    assert pin_facts(owner, keys(several), True) == 2
    assert Fact.objects.filter(pinned=True).count() == 3
    assert (
        list(FactEvent.objects.values_list("kind", "before__pinned", "after__pinned"))
        == [("pin", False, True)] * 3
    )
    assert all_pinned(owner, keys(several))
    assert pin_facts(owner, keys(several), False) == 3
    assert not Fact.objects.filter(pinned=True).exists()


def test_more_pins_than_there_is_room_for_change_nothing_and_say_how_many_fit(owner, make_fact, several):
    for n in range(8):
        make_fact(f"User likes tune {n}", pinned=True)
    with pytest.raises(Refused, match=r"At most 10 memories can be pinned\. There is room for 2 more\."):
        pin_facts(owner, keys(several), True)
    assert Fact.objects.filter(pinned=True).count() == 8
    assert not FactEvent.objects.exists()
    assert pin_facts(owner, keys(several[:2]), True) == 2


def test_a_pin_on_its_way_out_keeps_its_place_under_the_cap(owner, make_fact, several):
    for n in range(10):
        leaving = make_fact(f"User likes tune {n}", pinned=True)
    deletions.forget(owner, [leaving.pk])
    with pytest.raises(Refused, match="room for 0 more"):
        pin_facts(owner, keys(several[:1]), True)


def test_moving_records_an_edit_each_and_keeps_the_words_and_their_vectors(owner, several):
    assert move_facts(owner, keys(several), "project") == 3
    assert set(Fact.objects.values_list("category", "kind", "version", "embedder")) == {
        ("project", "goal", 2, "e")
    }
    steps = FactEvent.objects.values_list("kind", "actor", "before__category", "after__category")
    assert list(steps) == [("edit", "user", "preference", "project")] * 3
    assert not Job.objects.filter(kind="settle").exists()


def test_what_stands_on_the_shelf_already_is_left_alone(owner, several):
    assert move_facts(owner, keys(several), "preference") == 0
    assert not FactEvent.objects.exists()


def test_of_two_values_of_one_kind_the_one_mentioned_last_stays(owner, make_fact):
    now = timezone.now()
    old, new = (
        make_fact(f"User lives in {place}", kind="likes", last_seen=now - timedelta(days=days))
        for place, days in (("Oslo", 2), ("Bergen", 1))
    )
    move_facts(owner, [old.pk, new.pk], "identity")
    live = Fact.objects.live().get()
    assert (live.text, live.kind, live.supersedes) == ("User lives in Bergen", "home", old)


def test_a_shelf_that_does_not_exist_and_facts_that_are_gone_are_refused(owner, several):
    with pytest.raises(Refused, match="Choose project"):
        move_facts(owner, keys(several), "secret")
    deletions.forget(owner, keys(several))
    with pytest.raises(Refused, match="gone already"):
        move_facts(owner, keys(several), "project")
    with pytest.raises(Refused, match="gone already"):
        pin_facts(owner, keys(several), True)


def test_a_strangers_facts_are_not_touched(other, several):
    with pytest.raises(Refused, match="gone already"):
        pin_facts(other, keys(several), True)
    assert not Fact.objects.filter(pinned=True).exists()
