"""What nobody uses fades, in days on which the owner wrote something (design §5, "Fading")."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.utils import timezone

from chat.actions import deletions
from chat.actions.facts import reinforce
from chat.actions.fading import Faded, fade
from chat.models import Conversation, Fact, FactEvent, Message, OwnerSettings

pytestmark = pytest.mark.django_db

BEGIN = date(2026, 3, 1)


@pytest.fixture
def write(owner, clock):
    """Returns a writer of one message on each of some days, counted from the first of March."""
    clock(0)
    conversation = Conversation.objects.create(owner=owner, app=owner_app(owner))
    seq = iter(range(1, 10_000))

    def on(days, hour: int = 12, role: str = "user") -> None:
        Message.objects.bulk_create(
            Message(
                conversation=conversation,
                seq=next(seq),
                role=role,
                content="x",
                created_at=datetime(2026, 3, 1, hour, tzinfo=UTC) + timedelta(days=day),
            )
            for day in days
        )

    return on


def owner_app(owner):
    from chat.actions.owners import default_app

    return default_app(owner)


def day(number: int) -> date:
    return BEGIN + timedelta(days=number)


def test_nothing_fades_in_thirty_days_and_a_little_on_the_thirty_first(owner, make_fact, write):
    fact = make_fact("User likes tea")
    write(range(1, 60))
    assert fade(owner, day(31)) == Faded()
    fact.refresh_from_db()
    assert (fact.idle_days, fact.confidence) == (30, 0.75)
    assert not FactEvent.objects.exists()
    assert fade(owner, day(32)) == Faded(faded=1)
    fact.refresh_from_db()
    assert fact.idle_days == 31
    assert fact.confidence < 0.75
    event = FactEvent.objects.get()
    assert (event.kind, event.actor, event.reason) == ("decay", "system", "not used or said on 31 days")
    assert (event.before["confidence"], event.after["confidence"]) == (0.75, fact.confidence)


@pytest.mark.parametrize(
    ("category", "kind", "limit"), [("project", "goal", 60), ("preference", "likes", 180)]
)
def test_past_the_limit_of_its_category_it_is_archived(owner, make_fact, write, category, kind, limit):
    fact = make_fact("User plans a trip", category=category, kind=kind)
    write(range(1, 400))
    fade(owner, day(limit + 1))
    fact.refresh_from_db()
    assert (fact.idle_days, fact.archived_at) == (limit, None)
    assert fact.confidence == pytest.approx(0.1)
    assert fade(owner, day(limit + 2)) == Faded(1, 1)
    assert list(Fact.objects.archived()) == [fact]
    assert FactEvent.objects.filter(kind="expire").count() == 1
    assert FactEvent.objects.filter(kind="decay").count() == 2


def test_days_on_which_nothing_was_written_do_not_count(owner, make_fact, write):
    fact = make_fact("User likes tea")
    write(range(2, 300, 10))
    write(range(1, 300), role="assistant")
    fade(owner, day(300))
    fact.refresh_from_db()
    assert (fact.idle_days, fact.confidence) == (30, 0.75)


def test_a_second_pass_on_a_day_does_nothing(owner, make_fact, write):
    make_fact("User likes tea")
    write(range(1, 100))
    assert fade(owner, day(50)).faded == 1
    kept = list(Fact.objects.values())
    assert fade(owner, day(50)) == fade(owner, day(49)) == Faded()
    assert list(Fact.objects.values()) == kept
    assert OwnerSettings.objects.get(owner=owner).faded_through == day(49)


def test_today_is_not_over_and_does_not_count(owner, make_fact, write):
    fact = make_fact("User likes tea")
    write([1, 2])
    fade(owner, day(2))
    fact.refresh_from_db()
    assert fact.idle_days == 1


def test_downtime_is_caught_up_with_the_same_result_and_one_event(owner, make_fact, write):
    daily, late = make_fact("User likes tea"), make_fact("User likes go", pinned=True)
    write(range(1, 100))
    for number in range(1, 61):
        fade(owner, day(number))
    assert FactEvent.objects.filter(fact=daily).count() == 29
    Fact.objects.filter(pk=late.pk).update(pinned=False)
    OwnerSettings.objects.update(faded_through=None)
    Fact.objects.filter(pk=daily.pk).update(pinned=True)
    fade(owner, day(60))
    daily.refresh_from_db()
    late.refresh_from_db()
    assert late.idle_days == daily.idle_days == 59
    assert late.confidence == pytest.approx(daily.confidence)
    assert FactEvent.objects.filter(fact=late).count() == 1


def test_pinned_pending_replaced_and_other_peoples_facts_are_exempt(owner, other, make_fact, write):
    make_fact("User likes tea", pinned=True)
    make_fact("User likes go", superseded_at=timezone.now())
    make_fact("User likes rye", archived_at=timezone.now())
    make_fact("User likes rum", owner=other)
    deletions.forget(owner, [make_fact("User likes ink").pk])
    write(range(1, 100))
    assert fade(owner, day(90)) == Faded()


def test_a_repeat_begins_the_count_anew(owner, make_fact, write, time_machine):
    fact = make_fact("User likes tea")
    write(range(1, 200))
    fade(owner, day(26))
    time_machine.move_to(datetime(2026, 3, 26, 12, tzinfo=UTC))
    fact.refresh_from_db()
    assert fact.idle_days == 25
    assert reinforce(fact, "user", "said again").idle_days == 0
    fade(owner, day(40))
    fact.refresh_from_db()
    assert (fact.idle_days, fact.confidence) == (14, 0.9)


def test_days_before_a_fact_was_known_do_not_count(owner, make_fact, write):
    write(range(0, 50))
    seen = datetime(2026, 4, 10, tzinfo=UTC)
    make_fact("User likes go")
    fact = make_fact("User likes tea", last_seen=seen, last_used=seen)
    fade(owner, day(50))
    fact.refresh_from_db()
    assert fact.idle_days == 9


def test_days_are_the_owners_own(owner, make_fact, write):
    OwnerSettings.objects.filter(owner=owner).update(time_zone="Pacific/Auckland")
    fact = make_fact("User likes tea")
    # 10:00 and 12:00 of one day in UTC are two days in Auckland.
    write([1], hour=10)
    write([1], hour=12)
    fade(owner, day(5))
    fact.refresh_from_db()
    # It was learned on the first of the two.
    assert fact.idle_days == 1


def test_a_pass_that_is_killed_half_way_has_not_begun(owner, make_fact, write, monkeypatch):
    make_fact("User likes tea")
    write(range(1, 100))

    def killed(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(OwnerSettings, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            fade(owner, day(50))
    assert Fact.objects.get().confidence == 0.75
    assert not FactEvent.objects.exists()
    assert fade(owner, day(50)).faded == 1
