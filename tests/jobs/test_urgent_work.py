"""Explicit requests and added facts are processed before the backlog of other conversations."""

from __future__ import annotations

import threading

import pytest

from chat.actions.facts import add_fact
from chat.jobs import runner
from chat.jobs.runner import JobRunner
from chat.models import Conversation, Fact, Job
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture
def backlog(add_exchange):
    """A conversation with six unextracted messages."""
    chat = add_exchange("I like the number 0.")
    for n in range(1, 6):
        add_exchange(f"I like the number {n}.", chat)
    return chat


def last_turns(scripted) -> list[str]:
    return [call.turns[-1].content for call in scripted.calls]


def test_an_explicit_request_is_extracted_before_another_backlog(backlog, add_exchange, scripted):
    add_exchange("Remember that I keep bees.")
    runner.run_one({"extract"})
    assert "bees" in last_turns(scripted)[0]
    assert "bees" in Fact.objects.get().text


def test_earlier_messages_of_the_same_conversation_are_extracted_first(backlog, add_exchange, scripted):
    add_exchange("Remember that I keep bees.", backlog)
    runner.run_one({"extract"})
    assert "number 0" in last_turns(scripted)[0]
    assert "bees" in last_turns(scripted)[-1]


def test_an_added_fact_is_classified_before_a_backlog(backlog, owner, scripted):
    add_fact(owner, "Keeps bees behind the house")
    assert Job.objects.due("9999-01-01T00:00Z").values_list("kind", flat=True)[0] == "settle"


def test_an_urgent_job_stays_urgent_when_an_ordinary_request_joins(add_exchange):
    chat = add_exchange("Remember that I keep bees.")
    add_exchange("I like tea.", chat)
    assert Job.objects.urgent().get().dedupe_key == f"extract:{chat.pk}"


@pytest.mark.django_db(transaction=True)
def test_urgent_work_runs_during_a_running_extraction(backlog, owner, scripted):
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
        wait_until(lambda: not Job.objects.filter(kind="settle").exists())
        assert Fact.objects.get(pk=fact.pk).kind == "pet"
        assert Conversation.objects.get().extracted_through == 0
    finally:
        go_on.set()
        running.stop()
