"""What the user asks memory for waits behind no other chat's backlog."""

from __future__ import annotations

import threading

import pytest

from chat.actions.facts import add_fact
from chat.jobs import runner
from chat.jobs.runner import JobRunner
from chat.models import Conversation, Fact, Job
from tests.waiting import until

pytestmark = pytest.mark.django_db


@pytest.fixture
def backlog(say):
    """A chat of which six messages wait to be read."""
    chat = say("I like the number 0.")
    for n in range(1, 6):
        say(f"I like the number {n}.", chat)
    return chat


def read(scripted) -> list[str]:
    return [call.turns[-1].content for call in scripted.calls]


def test_remember_that_is_read_before_another_chats_backlog(backlog, say, scripted):
    say("Remember that I keep bees.")
    runner.run_one({"extract"})
    assert "bees" in read(scripted)[0]
    assert "bees" in Fact.objects.get().text


def test_what_stands_before_it_in_its_own_chat_is_read_first(backlog, say, scripted):
    say("Remember that I keep bees.", backlog)
    runner.run_one({"extract"})
    assert "number 0" in read(scripted)[0]
    assert "bees" in read(scripted)[-1]


def test_a_fact_added_by_hand_is_sorted_before_a_backlog(backlog, owner, scripted):
    add_fact(owner, "Keeps bees behind the house")
    assert Job.objects.due("9999-01-01T00:00Z").values_list("kind", flat=True)[0] == "settle"


def test_a_request_keeps_its_rank_when_an_ordinary_one_joins_it(say):
    chat = say("Remember that I keep bees.")
    say("I like tea.", chat)
    assert Job.objects.urgent().get().dedupe_key == f"extract:{chat.pk}"


@pytest.mark.django_db(transaction=True)
def test_it_does_not_even_wait_for_the_message_that_is_being_read(backlog, owner, scripted):
    reading, go_on = threading.Event(), threading.Event()

    def slowly(turns):
        reading.set()
        go_on.wait(20)
        return "none"

    scripted.completions.append(slowly)
    Job.objects.exclude(kind="extract").delete()
    running = JobRunner()
    running.start()
    try:
        assert reading.wait(10)
        scripted.completions.append("pet: User keeps bees behind the house")
        fact = add_fact(owner, "Keeps bees behind the house")
        until(lambda: not Job.objects.filter(kind="settle").exists())
        assert Fact.objects.get(pk=fact.pk).kind == "pet"
        assert Conversation.objects.get().extracted_through == 0
    finally:
        go_on.set()
        running.stop()
