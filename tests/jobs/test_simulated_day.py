"""Background work takes under 5 % of the time; on a busy day it waits for energy and none is lost."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from chat.actions import energy
from chat.models import Conversation, Fact
from tests.simulated_day import BEGIN, THINGS, simulate_day

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_thirty_messages_an_hour_take_less_than_five_percent_of_the_time(owner):
    day = simulate_day(owner, per_hour=30, hours=2, until_done=timedelta(hours=3))
    assert day.messages == 60
    assert 0.02 < day.share < 0.05
    assert (day.unread, day.given_up) == (0, 0)
    assert Fact.objects.filter(text__in=[f"User likes {thing}" for thing in THINGS]).count() == len(THINGS)


def test_with_120_messages_an_hour_jobs_wait_visibly_and_all_finish_later(owner):
    # As after an hour of chatting: two thirds of the energy are spent.
    energy.spend_energy(120, datetime.fromisoformat(BEGIN))
    day = simulate_day(owner, per_hour=120, hours=0.5, until_done=timedelta(hours=3))
    assert day.messages == 60
    assert day.lowest <= 20
    assert day.most_waiting > 0
    assert "extract" in day.seen_waiting
    # Explicit requests waited only for the extraction of earlier messages, not for energy.
    assert timedelta() < day.longest_told < timedelta(minutes=2) < day.longest_read
    # The budget is the 60 units left and the units refilled in half an hour.
    assert day.while_chatting < 60 + 0.5 * 180
    assert (day.unread, day.given_up) == (0, 0)
    assert day.all_done > day.chatting
    assert not Conversation.objects.filter(ended_at=None).exists()
