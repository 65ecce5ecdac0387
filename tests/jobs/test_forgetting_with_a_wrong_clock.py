"""A message from before a deletion teaches nothing of it, and a later one does, whatever the clock shows."""

from __future__ import annotations

import pytest

from chat.actions import deletions
from chat.actions.facts import add_fact
from chat.actions.recovery import recover_at_start
from chat.jobs.runner import run_due
from chat.models import Fact

pytestmark = pytest.mark.django_db
YEARS = 6 * 365 * 86400


@pytest.fixture(params=["everything", "one fact"])
def forget(request, owner, clock):
    """Return a function that forgets that the owner likes chess, for good."""

    def forget() -> None:
        fact = add_fact(owner, "I like chess")
        whole = request.param == "everything"
        gone = deletions.clear_memory(owner) if whole else deletions.forget_facts(owner, [fact.pk])
        assert deletions.finish_deletion(gone.pk, clock(20))

    return forget


@pytest.fixture
def find_learned(clock, scripted):
    """Return a function that returns the texts of the facts that unread messages teach."""

    def find_learned() -> list[str]:
        scripted.default_completion = "likes: User likes chess"
        clock(20)
        run_due(["extract"])
        return list(Fact.objects.live().values_list("text", flat=True))

    return find_learned


def test_forgotten_by_a_clock_in_the_past_stays_forgotten(add_exchange, clock, forget, find_learned):
    add_exchange("I like chess.")
    clock(-YEARS)
    forget()
    recover_at_start(clock(YEARS + 60))
    assert find_learned() == []


def test_what_is_said_after_it_teaches_by_the_wrong_clock_and_by_the_right_one(
    add_exchange, clock, forget, find_learned
):
    add_exchange("I like chess.")
    clock(-YEARS)
    forget()
    add_exchange("I like chess.")
    assert find_learned() == ["User likes chess"]
    clock(YEARS)
    forget()
    add_exchange("I like chess.")
    assert find_learned() == ["User likes chess"]


def test_what_is_said_after_something_was_forgotten_by_a_clock_ahead_teaches(
    add_exchange, clock, forget, find_learned
):
    clock(YEARS)
    forget()
    clock(-YEARS)
    add_exchange("I like chess.")
    assert find_learned() == ["User likes chess"]


def test_what_was_forgotten_after_a_message_by_a_clock_ahead_stays_forgotten(
    add_exchange, clock, forget, find_learned
):
    clock(YEARS)
    add_exchange("I like chess.")
    clock(-YEARS)
    forget()
    clock(YEARS + 60)
    assert find_learned() == []
