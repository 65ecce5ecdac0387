"""Confidence of unused facts decays; only days on which the owner wrote a message count."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from django.utils import timezone

from chat.actions import deletions
from chat.actions.decay import DecayResult, apply_decay
from chat.actions.facts import reinforce_fact
from chat.models import Conversation, Fact, FactEvent, Message, OwnerSettings

pytestmark = pytest.mark.django_db

FIRST_DAY = date(2026, 3, 1)


@pytest.fixture
def write(owner, clock):
    """Return a function that creates one message on each given day, counted from 1 March 2026."""
    clock(0)
    conversation = Conversation.objects.create(owner=owner, app=owner_app(owner))
    seq = iter(range(1, 10_000))

    def create_messages(days, hour: int = 12, role: str = "user") -> None:
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

    return create_messages


def owner_app(owner):
    from chat.actions.owners import default_app

    return default_app(owner)


def day(number: int) -> date:
    return FIRST_DAY + timedelta(days=number)


def test_confidence_decays_from_the_thirty_first_idle_day(owner, make_fact, write):
    fact = make_fact("User likes tea")
    write(range(1, 60))
    assert apply_decay(owner, day(31)) == DecayResult()
    fact.refresh_from_db()
    assert (fact.idle_days, fact.confidence) == (30, 0.75)
    assert not FactEvent.objects.exists()
    assert apply_decay(owner, day(32)) == DecayResult(faded=1)
    fact.refresh_from_db()
    assert fact.idle_days == 31
    assert fact.confidence < 0.75
    event = FactEvent.objects.get()
    assert (event.kind, event.actor, event.reason) == ("decay", "system", "not used or said on 31 days")
    assert (event.before["confidence"], event.after["confidence"]) == (0.75, fact.confidence)


@pytest.mark.parametrize(
    ("category", "kind", "limit"), [("project", "goal", 60), ("preference", "likes", 180)]
)
def test_a_fact_idle_beyond_its_categorys_limit_is_archived(owner, make_fact, write, category, kind, limit):
    fact = make_fact("User plans a trip", category=category, kind=kind)
    write(range(1, 400))
    apply_decay(owner, day(limit + 1))
    fact.refresh_from_db()
    assert (fact.idle_days, fact.archived_at) == (limit, None)
    assert fact.confidence == pytest.approx(0.1)
    assert apply_decay(owner, day(limit + 2)) == DecayResult(1, 1)
    assert list(Fact.objects.archived()) == [fact]
    assert FactEvent.objects.filter(kind="expire").count() == 1
    assert FactEvent.objects.filter(kind="decay").count() == 2


def test_days_without_user_messages_do_not_count(owner, make_fact, write):
    fact = make_fact("User likes tea")
    write(range(2, 300, 10))
    write(range(1, 300), role="assistant")
    apply_decay(owner, day(300))
    fact.refresh_from_db()
    assert (fact.idle_days, fact.confidence) == (30, 0.75)


def test_a_second_decay_run_on_a_day_changes_nothing(owner, make_fact, write):
    make_fact("User likes tea")
    write(range(1, 100))
    assert apply_decay(owner, day(50)).faded == 1
    kept = list(Fact.objects.values())
    assert apply_decay(owner, day(50)) == apply_decay(owner, day(49)) == DecayResult()
    assert list(Fact.objects.values()) == kept
    assert OwnerSettings.objects.get(owner=owner).faded_through == day(49)


def test_the_current_day_does_not_count(owner, make_fact, write):
    fact = make_fact("User likes tea")
    write([1, 2])
    apply_decay(owner, day(2))
    fact.refresh_from_db()
    assert fact.idle_days == 1


def test_catching_up_after_downtime_gives_the_same_result_with_one_event(owner, make_fact, write):
    daily, late = make_fact("User likes tea"), make_fact("User likes go", pinned=True)
    write(range(1, 100))
    for number in range(1, 61):
        apply_decay(owner, day(number))
    assert FactEvent.objects.filter(fact=daily).count() == 29
    Fact.objects.filter(pk=late.pk).update(pinned=False)
    OwnerSettings.objects.update(faded_through=None)
    Fact.objects.filter(pk=daily.pk).update(pinned=True)
    apply_decay(owner, day(60))
    daily.refresh_from_db()
    late.refresh_from_db()
    assert late.idle_days == daily.idle_days == 59
    assert late.confidence == pytest.approx(daily.confidence)
    assert FactEvent.objects.filter(fact=late).count() == 1


def test_pinned_pending_superseded_archived_and_other_owners_facts_do_not_decay(
    owner, other, make_fact, write
):
    make_fact("User likes tea", pinned=True)
    make_fact("User likes go", superseded_at=timezone.now())
    make_fact("User likes rye", archived_at=timezone.now())
    make_fact("User likes rum", owner=other)
    deletions.forget_facts(owner, [make_fact("User likes ink").pk])
    write(range(1, 100))
    assert apply_decay(owner, day(90)) == DecayResult()


def test_reinforcing_a_fact_resets_its_idle_days(owner, make_fact, write, time_machine):
    fact = make_fact("User likes tea")
    write(range(1, 200))
    apply_decay(owner, day(26))
    time_machine.move_to(datetime(2026, 3, 26, 12, tzinfo=UTC))
    fact.refresh_from_db()
    assert fact.idle_days == 25
    assert reinforce_fact(fact, "user", "said again").idle_days == 0
    apply_decay(owner, day(40))
    fact.refresh_from_db()
    assert (fact.idle_days, fact.confidence) == (14, 0.9)


def test_days_before_a_fact_was_last_seen_do_not_count(owner, make_fact, write):
    write(range(0, 50))
    seen = datetime(2026, 4, 10, tzinfo=UTC)
    make_fact("User likes go")
    fact = make_fact("User likes tea", last_seen=seen, last_used=seen)
    apply_decay(owner, day(50))
    fact.refresh_from_db()
    assert fact.idle_days == 9


def test_days_follow_the_owners_time_zone(owner, make_fact, write):
    OwnerSettings.objects.filter(owner=owner).update(time_zone="Pacific/Auckland")
    fact = make_fact("User likes tea")
    # 10:00 and 12:00 UTC of one day fall on two days in Auckland.
    write([1], hour=10)
    write([1], hour=12)
    apply_decay(owner, day(5))
    fact.refresh_from_db()
    # The fact was learned on the first of the two days, which does not count.
    assert fact.idle_days == 1


def test_an_interrupted_decay_run_rolls_back(owner, make_fact, write, monkeypatch):
    make_fact("User likes tea")
    write(range(1, 100))

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(OwnerSettings, "save", interrupt)
        with pytest.raises(KeyboardInterrupt):
            apply_decay(owner, day(50))
    assert Fact.objects.get().confidence == 0.75
    assert not FactEvent.objects.exists()
    assert apply_decay(owner, day(50)).faded == 1
