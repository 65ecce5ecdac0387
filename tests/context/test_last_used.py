"""A fact that a prompt used is marked so, at most once a day of its owner's."""

from __future__ import annotations

from datetime import datetime

import pytest

from chat.models import Fact, OwnerSettings

pytestmark = pytest.mark.django_db


@pytest.fixture
def boat(make_fact, time_machine):
    """A project known since Sunday noon."""
    time_machine.move_to("2026-03-01 12:00+00:00", tick=False)
    return make_fact("User is building a boat", category="project", kind="building")


def used_at(fact: Fact) -> datetime:
    fact.refresh_from_db()
    return fact.last_used


def test_a_fact_in_a_prompt_of_another_day_is_used_then(boat, make_conversation, turn, time_machine):
    time_machine.move_to("2026-03-03 08:00+00:00", tick=False)
    turn(make_conversation(), "Hi")
    assert used_at(boat) == datetime.fromisoformat("2026-03-03 08:00+00:00")


def test_a_fact_is_marked_once_a_day(boat, make_conversation, turn, time_machine):
    time_machine.move_to("2026-03-03 08:00+00:00", tick=False)
    conversation = make_conversation()
    turn(conversation, "Hi")
    time_machine.move_to("2026-03-03 21:00+00:00", tick=False)
    turn(conversation, "Hi again")
    assert used_at(boat) == datetime.fromisoformat("2026-03-03 08:00+00:00")


@pytest.mark.parametrize(
    ("zone", "day_has_begun"), [("UTC", False), ("Asia/Tokyo", True), ("America/New_York", False)]
)
def test_the_day_is_the_owners(boat, owner, make_conversation, turn, time_machine, zone, day_has_begun):
    OwnerSettings.objects.filter(owner=owner).update(time_zone=zone)
    time_machine.move_to("2026-03-01 16:00+00:00", tick=False)
    turn(make_conversation(), "Hi")
    assert (used_at(boat).hour == 16) is day_has_begun


def test_an_unknown_zone_is_no_reason_to_fail(boat, owner, make_conversation, turn, time_machine):
    OwnerSettings.objects.filter(owner=owner).update(time_zone="Mars/Olympus")
    time_machine.move_to("2026-03-03 08:00+00:00", tick=False)
    turn(make_conversation(), "Hi")
    assert used_at(boat).day == 3


def test_a_used_fact_is_idle_no_longer(boat, make_conversation, turn):
    Fact.objects.update(idle_days=12)
    turn(make_conversation(), "Hi")
    boat.refresh_from_db()
    assert boat.idle_days == 0


def test_what_no_prompt_used_stays_as_it_was(make_fact, make_conversation, turn, time_machine):
    time_machine.move_to("2026-03-01 12:00+00:00", tick=False)
    chess = make_fact("User likes chess", idle_days=4)
    time_machine.move_to("2026-03-09 12:00+00:00", tick=False)
    turn(make_conversation(), "Hi")
    assert used_at(chess).day == 1
    assert chess.idle_days == 4


def test_another_persons_facts_are_not_marked(boat, other, make_conversation, turn, time_machine):
    theirs = Fact.objects.create(
        owner=other, text="User sings", category="project", kind="goal", confidence=1
    )
    time_machine.move_to("2026-03-09 12:00+00:00", tick=False)
    turn(make_conversation(), "Hi")
    assert used_at(theirs).day == 1
