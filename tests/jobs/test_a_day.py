"""Chatting takes less than a twentieth of the time; on a busy day work waits, and none of it is lost."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from chat.actions import energy
from chat.models import Conversation, Fact
from tests.simulated_day import BEGIN, THINGS, simulate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_thirty_messages_an_hour_take_less_than_a_twentieth_of_the_time(owner):
    day = simulate(owner, per_hour=30, hours=2, until_done=timedelta(hours=3))
    assert day.messages == 60
    assert 0.02 < day.share < 0.05
    assert (day.unread, day.given_up) == (0, 0)
    assert Fact.objects.filter(text__in=[f"User likes {thing}" for thing in THINGS]).count() == len(THINGS)


def test_of_a_hundred_and_twenty_some_wait_which_is_shown_and_all_are_done_later(owner):
    # As after an hour of it: all but a third of the energy has been spent.
    energy.spend(120, datetime.fromisoformat(BEGIN))
    day = simulate(owner, per_hour=120, hours=0.5, until_done=timedelta(hours=3))
    assert day.messages == 60
    assert day.lowest <= 20
    assert day.most_waiting > 0
    assert "extract" in day.seen_waiting
    # What the user asked for waited for what stands before it to be read, and not for energy.
    assert timedelta() < day.longest_told < timedelta(minutes=2) < day.longest_read
    # There were 60 units and those that refilled meanwhile.
    assert day.while_chatting < 60 + 0.5 * 180
    assert (day.unread, day.given_up) == (0, 0)
    assert day.all_done > day.chatting
    assert not Conversation.objects.filter(ended_at=None).exists()
