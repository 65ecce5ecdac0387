"""Bulk changes of facts apply to all selected facts or to none, and record an event for each."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import deletions
from chat.actions.fact_bulk import are_all_pinned, move_facts, pin_facts
from chat.errors import Refused
from chat.models import Fact, FactEvent, Job

pytestmark = pytest.mark.django_db


@pytest.fixture
def several(make_fact):
    """Three facts."""
    return [make_fact(f"User likes colour {n}", embedding=b"v", embedder="e") for n in range(3)]


def keys(facts):
    """Return the primary keys of facts."""
    return [fact.pk for fact in facts]


def test_pinning_records_an_event_per_fact_and_skips_pinned_facts(owner, several):
    pin_facts(owner, keys(several[:1]), True)
    assert pin_facts(owner, keys(several), True) == 2
    assert Fact.objects.filter(pinned=True).count() == 3
    assert (
        list(FactEvent.objects.values_list("kind", "before__pinned", "after__pinned"))
        == [("pin", False, True)] * 3
    )
    assert are_all_pinned(owner, keys(several))
    assert pin_facts(owner, keys(several), False) == 3
    assert not Fact.objects.filter(pinned=True).exists()


def test_too_many_pins_are_refused_with_the_number_that_fit(owner, make_fact, several):
    for n in range(8):
        make_fact(f"User likes tune {n}", pinned=True)
    with pytest.raises(Refused, match=r"At most 10 memories can be pinned\. There is room for 2 more\."):
        pin_facts(owner, keys(several), True)
    assert Fact.objects.filter(pinned=True).count() == 8
    assert not FactEvent.objects.exists()
    assert pin_facts(owner, keys(several[:2]), True) == 2


def test_pins_pending_deletion_count_towards_the_limit(owner, make_fact, several):
    for n in range(10):
        last_pinned = make_fact(f"User likes tune {n}", pinned=True)
    deletions.forget_facts(owner, [last_pinned.pk])
    with pytest.raises(Refused, match="room for 0 more"):
        pin_facts(owner, keys(several[:1]), True)


def test_moving_records_an_edit_per_fact_and_keeps_text_and_vector(owner, several):
    assert move_facts(owner, keys(several), "project") == 3
    assert set(Fact.objects.values_list("category", "kind", "version", "embedder")) == {
        ("project", "goal", 2, "e")
    }
    steps = FactEvent.objects.values_list("kind", "actor", "before__category", "after__category")
    assert list(steps) == [("edit", "user", "preference", "project")] * 3
    assert not Job.objects.filter(kind="settle").exists()


def test_facts_already_in_the_category_are_unchanged(owner, several):
    assert move_facts(owner, keys(several), "preference") == 0
    assert not FactEvent.objects.exists()


def test_moving_two_values_of_one_kind_keeps_the_last_seen(owner, make_fact):
    now = timezone.now()
    old, new = (
        make_fact(f"User lives in {place}", kind="likes", last_seen=now - timedelta(days=days))
        for place, days in (("Oslo", 2), ("Bergen", 1))
    )
    move_facts(owner, [old.pk, new.pk], "identity")
    live = Fact.objects.live().get()
    assert (live.text, live.kind, live.supersedes) == ("User lives in Bergen", "home", old)


def test_unknown_categories_and_deleted_facts_are_refused(owner, several):
    with pytest.raises(Refused, match="Choose project"):
        move_facts(owner, keys(several), "secret")
    deletions.forget_facts(owner, keys(several))
    with pytest.raises(Refused, match="already been deleted"):
        move_facts(owner, keys(several), "project")
    with pytest.raises(Refused, match="already been deleted"):
        pin_facts(owner, keys(several), True)


def test_other_owners_facts_cannot_be_pinned(other, several):
    with pytest.raises(Refused, match="already been deleted"):
        pin_facts(other, keys(several), True)
    assert not Fact.objects.filter(pinned=True).exists()
