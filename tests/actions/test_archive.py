"""What makes room goes to the archive and can be brought back for 30 days (design §5, "Eviction")."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import archive, deletions, looks
from chat.actions.facts import add_fact, pin_fact
from chat.actions.messages import Refused
from chat.memory.extract import Candidate, Extraction
from chat.models import Fact, FactEvent, Tombstone

pytestmark = pytest.mark.django_db


@pytest.fixture
def known(clock, make_fact):
    """Returns a maker of numbered facts, each said that many days ago."""

    def make(count: int, days: int = 10, **fields) -> list[Fact]:
        said = clock(0) - timedelta(days=days)
        return [
            make_fact(f"User likes number {i} of {days}", last_seen=said - timedelta(minutes=i), **fields)
            for i in range(count)
        ]

    return make


def test_below_the_threshold_nothing_leaves(owner, known):
    known(119)
    add_fact(owner, "I like tea")
    assert Fact.objects.live().count() == 120
    assert not Fact.objects.archived().exists()


def test_from_the_threshold_on_a_few_of_the_highest_leave_with_each_new_fact(owner, known):
    old = known(130)
    add_fact(owner, "I like tea")
    assert Fact.objects.live().count() == 128
    assert set(Fact.objects.archived()) == set(old[-3:])
    event = FactEvent.objects.filter(kind="evict").first()
    assert (event.actor, event.reason) == ("system", "made room for newer memories")
    assert Fact.objects.archived()[0].archived_at == timezone.now()


def test_it_never_goes_below_the_threshold(owner, known):
    known(120)
    add_fact(owner, "I like tea")
    assert Fact.objects.live().count() == 120


def test_what_was_said_today_stays_while_there_is_room(owner, known):
    today = known(130, days=0)
    old = known(1, days=3)
    archive.evict(owner, timezone.now())
    assert list(Fact.objects.archived()) == old
    assert archive.evict(owner, timezone.now()) == []
    assert Fact.objects.live().count() == len(today)


def test_there_are_never_more_than_150_even_on_one_day_and_the_newest_stays(owner, known):
    known(150, days=0)
    newest = add_fact(owner, "I like tea")
    assert Fact.objects.live().count() == 150
    assert newest in Fact.objects.live()


def test_a_look_that_learns_makes_room_and_keeps_what_it_learned(owner, known, talk):
    known(150, days=0)
    asked, _ = talk("I like tea and go.")
    candidates = [
        Candidate(text, "likes", "preference", "", hedged=False, quote=text)
        for text in ("User likes tea", "User likes go")
    ]
    looks.record_look(asked, Extraction(candidates), [None, None], "", 0.1)
    assert Fact.objects.live().count() == 150
    assert Fact.objects.live().filter(text__in=["User likes tea", "User likes go"]).count() == 2


def test_pinned_facts_are_exempt(owner, known):
    pinned = known(10, days=300, pinned=True)
    known(120)
    archive.evict(owner, timezone.now())
    assert Fact.objects.archived().count() == 3
    assert not set(pinned) & set(Fact.objects.archived())


def test_pending_facts_keep_their_places(owner, known):
    facts = known(150)
    deletion = deletions.forget(owner, [f.pk for f in facts[:5]])
    add_fact(owner, "I like tea")
    assert Fact.objects.live().count() == 143
    undone = deletions.undo(deletion)
    assert set(undone.returned) == set(facts[:5])
    assert set(facts[:5]) <= set(Fact.objects.live())


def test_what_is_added_while_everything_is_on_its_way_out_stays(owner, known):
    facts = known(150, days=0)
    deletion = deletions.forget(owner, [f.pk for f in facts])
    added = {add_fact(owner, "I like tea"), add_fact(owner, "I like go")}
    assert set(Fact.objects.live()) == added
    undone = deletions.undo(deletion)
    assert set(undone.returned) == set(facts) == set(Fact.objects.live())
    assert set(Fact.objects.archived()) == added


def test_another_persons_facts_take_no_place(owner, other, known):
    known(149, owner=other)
    add_fact(owner, "I like tea")
    assert not Fact.objects.archived().exists()


def test_an_evicted_fact_is_brought_back_as_it_was_and_is_not_evicted_at_once(clock, owner, known):
    old = known(121)[-1]
    assert archive.evict(owner, timezone.now()) == [old]
    clock(29 * 86400)
    back = archive.bring_back(old)
    assert back in Fact.objects.live()
    assert (back.confidence, back.mention_count) == (0.75, 1)
    assert not old.events.exclude(kind__in=["evict", "restore"]).exists()
    add_fact(owner, "I like tea")
    assert back in Fact.objects.live()


def test_after_thirty_days_it_cannot(clock, owner, make_fact):
    fact = make_fact("User likes tea", archived_at=clock(0))
    clock(30 * 86400)
    with pytest.raises(Refused, match="no longer in the archive"):
        archive.bring_back(fact)


def test_what_is_not_in_the_archive_cannot_be_brought_back(make_fact):
    with pytest.raises(Refused, match="no longer in the archive"):
        archive.bring_back(make_fact("User likes tea"))


def test_bringing_back_keeps_the_cap(clock, owner, known, make_fact):
    known(150, days=0)
    old = make_fact("User likes tea", archived_at=clock(0))
    archive.bring_back(old)
    assert Fact.objects.live().count() == 150
    assert old in Fact.objects.live()


def test_a_single_value_that_was_learned_meanwhile_makes_way(clock, owner, make_fact):
    oslo = make_fact("User lives in Oslo", kind="home", category="identity", archived_at=clock(0))
    bergen = add_fact(owner, "I live in Bergen")
    pin_fact(bergen, True)
    back = archive.bring_back(oslo)
    assert Fact.objects.live().get() == back
    bergen.refresh_from_db()
    assert (back.supersedes, back.pinned, bergen.pinned) == (bergen, True, False)


def test_what_was_learned_again_meanwhile_becomes_one_with_it(clock, owner, make_fact):
    old = make_fact("User likes tea", archived_at=clock(0), mention_count=3)
    add_fact(owner, "user likes tea")
    back = archive.bring_back(old)
    assert Fact.objects.get() == back
    assert back.mention_count == 4
    assert set(back.events.values_list("kind", flat=True)) == {"add", "restore"}


def test_a_faded_fact_comes_back_as_sure_as_when_it_was_learned(clock, make_fact):
    faded = make_fact("User likes tea", archived_at=clock(0), confidence=0.09, idle_days=181)
    back = archive.bring_back(faded)
    assert (back.confidence, back.idle_days) == (0.75, 0)


def test_the_archive_is_emptied_after_thirty_days_without_a_trace_or_a_tombstone(clock, owner, make_fact):
    older = make_fact("User likes coffee", superseded_at=clock(0))
    make_fact("User likes tea", archived_at=clock(0), supersedes=older)
    clock(86400)
    kept = make_fact("User likes go", archived_at=timezone.now())
    assert archive.purge(owner, clock(28 * 86400)) == 0
    assert archive.purge(owner, clock(86400)) == 1
    assert list(Fact.objects.all()) == [kept]
    assert not Tombstone.objects.exists()
