"""Facts used in a prompt get a new last_used time, at most once per day in the owner's time zone."""

from __future__ import annotations

from datetime import datetime

import pytest

from chat.models import Fact, OwnerSettings

pytestmark = pytest.mark.django_db


@pytest.fixture
def boat(make_fact, time_machine):
    """A project fact created on Sunday, 1 March 2026, at noon UTC."""
    time_machine.move_to("2026-03-01 12:00+00:00", tick=False)
    return make_fact("User is building a boat", category="project", kind="building")


def read_last_used(fact: Fact) -> datetime:
    fact.refresh_from_db()
    return fact.last_used


def test_a_prompt_on_another_day_updates_last_used(boat, make_conversation, turn, time_machine):
    time_machine.move_to("2026-03-03 08:00+00:00", tick=False)
    turn(make_conversation(), "Hi")
    assert read_last_used(boat) == datetime.fromisoformat("2026-03-03 08:00+00:00")


def test_last_used_is_updated_once_a_day(boat, make_conversation, turn, time_machine):
    time_machine.move_to("2026-03-03 08:00+00:00", tick=False)
    conversation = make_conversation()
    turn(conversation, "Hi")
    time_machine.move_to("2026-03-03 21:00+00:00", tick=False)
    turn(conversation, "Hi again")
    assert read_last_used(boat) == datetime.fromisoformat("2026-03-03 08:00+00:00")


@pytest.mark.parametrize(
    ("zone", "day_has_begun"), [("UTC", False), ("Asia/Tokyo", True), ("America/New_York", False)]
)
def test_the_day_follows_the_owners_time_zone(
    boat, owner, make_conversation, turn, time_machine, zone, day_has_begun
):
    OwnerSettings.objects.filter(owner=owner).update(time_zone=zone)
    time_machine.move_to("2026-03-01 16:00+00:00", tick=False)
    turn(make_conversation(), "Hi")
    assert (read_last_used(boat).hour == 16) is day_has_begun


def test_an_unknown_time_zone_is_no_error(boat, owner, make_conversation, turn, time_machine):
    OwnerSettings.objects.filter(owner=owner).update(time_zone="Mars/Olympus")
    time_machine.move_to("2026-03-03 08:00+00:00", tick=False)
    turn(make_conversation(), "Hi")
    assert read_last_used(boat).day == 3


def test_a_used_fact_has_no_idle_days(boat, make_conversation, turn):
    Fact.objects.update(idle_days=12)
    turn(make_conversation(), "Hi")
    boat.refresh_from_db()
    assert boat.idle_days == 0


def test_an_unused_fact_is_unchanged(make_fact, make_conversation, turn, time_machine):
    time_machine.move_to("2026-03-01 12:00+00:00", tick=False)
    chess = make_fact("User likes chess", idle_days=4)
    time_machine.move_to("2026-03-09 12:00+00:00", tick=False)
    turn(make_conversation(), "Hi")
    assert read_last_used(chess).day == 1
    assert chess.idle_days == 4


def test_other_owners_facts_are_not_updated(boat, other, make_conversation, turn, time_machine):
    theirs = Fact.objects.create(
        owner=other, text="User sings", category="project", kind="goal", confidence=1
    )
    time_machine.move_to("2026-03-09 12:00+00:00", tick=False)
    turn(make_conversation(), "Hi")
    assert read_last_used(theirs).day == 1
