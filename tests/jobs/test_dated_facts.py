"""Facts are stored with the days from and until which they hold, counted in the owner's zone."""

from __future__ import annotations

from datetime import date

import pytest

from chat.actions.facts import add_fact, edit_fact
from chat.jobs import runner
from chat.models import ExtractionRun, Fact, Message, OwnerSettings
from tests.jobs.run_extraction import run_extraction_jobs

pytestmark = pytest.mark.django_db


@pytest.fixture
def say(clock, scripted, add_exchange, time_machine):
    """Return a function that sends a message on Sunday, 29 November 2026, late in the evening (UTC), with the
    model's answers, and extracts it.
    """
    time_machine.move_to("2026-11-29 23:30+00:00", tick=False)

    def send(text, *answers, **fields):
        scripted.completions.clear()
        scripted.completions.extend(answers)
        conversation = add_exchange(text)
        Message.objects.filter(conversation=conversation).update(**fields)
        run_extraction_jobs(clock)

    return send


def test_an_event_ahead_is_stored_with_its_day(say):
    say("My marathon is on 12 April.", "event: User's marathon is on 12 April")
    fact = Fact.objects.get()
    assert (fact.text, fact.holds_until) == ("User's marathon is on 12 April", date(2027, 4, 12))


def test_an_age_is_stored_with_the_day_on_which_it_was_said(say):
    say("My son is 3.", "family: User's son is 3")
    assert Fact.objects.get().said_on == date(2026, 11, 29)


@pytest.mark.parametrize(
    ("zone", "day"),
    [("UTC", "30 November 2026"), ("Europe/Berlin", "1 December 2026"), ("America/Lima", "30 November")],
)
def test_tomorrow_is_counted_in_the_owners_zone(owner, say, zone, day):
    OwnerSettings.objects.filter(owner=owner).update(time_zone=zone)
    say("I fly to Rome tomorrow.", "event: User flies to Rome tomorrow")
    assert day in Fact.objects.get().text


def test_a_message_without_a_date_of_its_own_makes_no_dated_fact(say):
    answer = "event: User flies to Rome tomorrow\nlikes: User likes chess"
    say("I fly to Rome tomorrow and I like chess.", answer, date_inferred=True)
    say("My son is 3.", "family: User's son is 3", date_inferred=True)
    fact = Fact.objects.get()
    assert (fact.text, fact.holds_from, fact.holds_until, fact.said_on) == (
        "User likes chess",
        None,
        None,
        None,
    )
    refused = [refusal for run in ExtractionRun.objects.order_by("pk") for refusal in run.refused]
    assert refused == [
        {"text": "User flies to Rome tomorrow", "reason": "is-undated"},
        {"text": "User's son is 3", "reason": "is-undated"},
    ]


def test_a_fact_that_is_added_by_hand_gets_its_days_again_with_its_kind(owner, scripted, say):
    fact = add_fact(owner, "My marathon is on 12 April")
    scripted.completions.append("event")
    runner.run_due(["settle"])
    fact.refresh_from_db()
    assert (fact.kind, fact.holds_until) == ("event", date(2027, 4, 12))
    edited = edit_fact(fact, "My marathon is on 19 April")
    assert edited.holds_until == date(2027, 4, 19)
