"""Eviction moves facts to the archive above a threshold; an archived fact can be restored for 30 days."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import archive, deletions, extraction
from chat.actions.facts import add_fact, pin_fact
from chat.errors import Refused
from chat.memory.candidates import Extraction, FactCandidate
from chat.models import Fact, FactEvent, Tombstone

pytestmark = pytest.mark.django_db


@pytest.fixture
def make_facts(clock, make_fact):
    """Return a function that creates numbered facts of a given age in days."""

    def make(count: int, days: int = 10, **fields) -> list[Fact]:
        newest = clock(0) - timedelta(days=days)
        return [
            make_fact(f"User likes number {i} of {days}", last_seen=newest - timedelta(minutes=i), **fields)
            for i in range(count)
        ]

    return make


def test_nothing_is_evicted_below_the_threshold(owner, make_facts):
    make_facts(119)
    add_fact(owner, "I like tea")
    assert Fact.objects.live().count() == 120
    assert not Fact.objects.archived().exists()


def test_above_the_threshold_each_new_fact_evicts_up_to_three(owner, make_facts):
    old = make_facts(130)
    add_fact(owner, "I like tea")
    assert Fact.objects.live().count() == 128
    assert set(Fact.objects.archived()) == set(old[-3:])
    event = FactEvent.objects.filter(kind="evict").first()
    assert (event.actor, event.reason) == ("system", "made room for newer memories")
    assert Fact.objects.archived()[0].archived_at == timezone.now()


def test_eviction_stops_at_the_threshold(owner, make_facts):
    make_facts(120)
    add_fact(owner, "I like tea")
    assert Fact.objects.live().count() == 120


def test_facts_of_today_are_not_evicted_below_the_cap(owner, make_facts):
    today = make_facts(130, days=0)
    old = make_facts(1, days=3)
    archive.evict_facts(owner, timezone.now())
    assert list(Fact.objects.archived()) == old
    assert archive.evict_facts(owner, timezone.now()) == []
    assert Fact.objects.live().count() == len(today)


def test_at_most_150_facts_are_live_and_the_newest_stays(owner, make_facts):
    make_facts(150, days=0)
    newest = add_fact(owner, "I like tea")
    assert Fact.objects.live().count() == 150
    assert newest in Fact.objects.live()


def test_extraction_evicts_older_facts_and_keeps_the_new_ones(owner, make_facts, talk):
    make_facts(150, days=0)
    asked, _ = talk("I like tea and go.")
    candidates = [
        FactCandidate(text, "likes", "preference", "", hedged=False, quote=text)
        for text in ("User likes tea", "User likes go")
    ]
    extraction.record_extraction(asked, Extraction(candidates), [None, None], "", 0.1)
    assert Fact.objects.live().count() == 150
    assert Fact.objects.live().filter(text__in=["User likes tea", "User likes go"]).count() == 2


def test_pinned_facts_are_never_evicted(owner, make_facts):
    pinned = make_facts(10, days=300, pinned=True)
    make_facts(120)
    archive.evict_facts(owner, timezone.now())
    assert Fact.objects.archived().count() == 3
    assert not set(pinned) & set(Fact.objects.archived())


def test_facts_pending_deletion_count_towards_the_cap(owner, make_facts):
    facts = make_facts(150)
    deletion = deletions.forget_facts(owner, [f.pk for f in facts[:5]])
    add_fact(owner, "I like tea")
    assert Fact.objects.live().count() == 143
    undone = deletions.undo_deletion(deletion)
    assert set(undone.returned) == set(facts[:5])
    assert set(facts[:5]) <= set(Fact.objects.live())


def test_facts_added_while_all_others_are_pending_deletion_stay(owner, make_facts):
    facts = make_facts(150, days=0)
    deletion = deletions.forget_facts(owner, [f.pk for f in facts])
    added = {add_fact(owner, "I like tea"), add_fact(owner, "I like go")}
    assert set(Fact.objects.live()) == added
    undone = deletions.undo_deletion(deletion)
    assert set(undone.returned) == set(facts) == set(Fact.objects.live())
    assert set(Fact.objects.archived()) == added


def test_other_owners_facts_do_not_count_towards_the_cap(owner, other, make_facts):
    make_facts(149, owner=other)
    add_fact(owner, "I like tea")
    assert not Fact.objects.archived().exists()


def test_a_restored_fact_is_unchanged_and_not_evicted_immediately(clock, owner, make_facts):
    old = make_facts(121)[-1]
    assert archive.evict_facts(owner, timezone.now()) == [old]
    clock(29 * 86400)
    back = archive.restore_archived_fact(old)
    assert back in Fact.objects.live()
    assert (back.confidence, back.mention_count) == (0.75, 1)
    assert not old.events.exclude(kind__in=["evict", "restore"]).exists()
    add_fact(owner, "I like tea")
    assert back in Fact.objects.live()


def test_a_fact_cannot_be_restored_after_thirty_days(clock, owner, make_fact):
    fact = make_fact("User likes tea", archived_at=clock(0))
    clock(30 * 86400)
    with pytest.raises(Refused, match="no longer in the archive"):
        archive.restore_archived_fact(fact)


def test_a_fact_outside_the_archive_cannot_be_restored(make_fact):
    with pytest.raises(Refused, match="no longer in the archive"):
        archive.restore_archived_fact(make_fact("User likes tea"))


def test_restoring_a_fact_keeps_the_cap(clock, owner, make_facts, make_fact):
    make_facts(150, days=0)
    old = make_fact("User likes tea", archived_at=clock(0))
    archive.restore_archived_fact(old)
    assert Fact.objects.live().count() == 150
    assert old in Fact.objects.live()


def test_a_restored_single_valued_fact_supersedes_the_newer_value(clock, owner, make_fact):
    oslo = make_fact("User lives in Oslo", kind="home", category="identity", archived_at=clock(0))
    bergen = add_fact(owner, "I live in Bergen")
    pin_fact(bergen, True)
    back = archive.restore_archived_fact(oslo)
    assert Fact.objects.live().get() == back
    bergen.refresh_from_db()
    assert (back.supersedes, back.pinned, bergen.pinned) == (bergen, True, False)


def test_a_restored_fact_merges_with_the_same_fact_learned_again(clock, owner, make_fact):
    old = make_fact("User likes tea", archived_at=clock(0), mention_count=3)
    add_fact(owner, "user likes tea")
    back = archive.restore_archived_fact(old)
    assert Fact.objects.get() == back
    assert back.mention_count == 4
    assert set(back.events.values_list("kind", flat=True)) == {"add", "restore"}


def test_restoring_resets_decayed_confidence(clock, make_fact):
    faded = make_fact("User likes tea", archived_at=clock(0), confidence=0.09, idle_days=181)
    back = archive.restore_archived_fact(faded)
    assert (back.confidence, back.idle_days) == (0.75, 0)


def test_archived_facts_are_deleted_after_thirty_days_without_tombstones(clock, owner, make_fact):
    older = make_fact("User likes coffee", superseded_at=clock(0))
    make_fact("User likes tea", archived_at=clock(0), supersedes=older)
    clock(86400)
    kept = make_fact("User likes go", archived_at=timezone.now())
    assert archive.purge_archive(owner, clock(28 * 86400)) == 0
    assert archive.purge_archive(owner, clock(86400)) == 1
    assert list(Fact.objects.all()) == [kept]
    assert not Tombstone.objects.exists()
