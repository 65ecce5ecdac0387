"""The terminal shows what memory did about a request, as the page does below the reply."""

from __future__ import annotations

import io

import pytest

from chat.actions.facts import add_fact
from chat.models import Conversation, Deletion, Fact, RequestOutcome
from chat.terminal.repl import _report_requests
from chat.terminal.screen import Screen
from tests.jobs.run_extraction import run_extraction_jobs
from tests.waiting import wait_until


@pytest.fixture
def report(talk, typed, clock, scripted):
    """Return a function that types a message, lets memory read it, and returns what the terminal shows."""

    def send(text):
        scripted.default_completion = "none"
        typed(text)
        # The extraction waits while the reply is being ended, in another thread.
        wait_until(lambda: _is_obeyed(clock))
        talk.screen = Screen(io.StringIO(), coloured=False)
        _report_requests(talk)
        return talk.screen._out.getvalue()

    return send


def _is_obeyed(clock):
    run_extraction_jobs(clock)
    return RequestOutcome.objects.exists() or Deletion.objects.exists()


def test_what_was_forgotten_is_shown_once_and_undo_brings_it_back(report, typed, talk, owner):
    add_fact(owner, "I am allergic to nuts")
    shown = report("Please forget that I am allergic to nuts.")
    assert shown.startswith("Forgotten: ")
    assert "/undo takes it back until" in shown
    assert not Fact.objects.live().exists()
    talk.screen = Screen(io.StringIO(), coloured=False)
    _report_requests(talk)
    assert talk.screen._out.getvalue() == ""
    assert typed("/undo") == "Undone.\n"
    assert Fact.objects.live().count() == 1


def test_where_it_is_unclear_the_candidates_are_shown_with_their_command(report, typed, owner):
    add_fact(owner, "My sister is called Noor")
    add_fact(owner, "My sister plays the harp")
    shown = report("Please forget my sister Ada's job.")
    assert shown.startswith("Which should be forgotten?\n")
    lines = shown.splitlines()[1:]
    assert len(lines) == 2
    assert not Deletion.objects.exists()
    typed(lines[0].strip())
    assert Fact.objects.live().count() == 1


def test_where_nothing_matches_the_terminal_says_so(report):
    assert report("Forget that I play the tuba.") == "Nothing in memory matches.\n"


def test_with_memory_off_the_terminal_says_that_nothing_happened(report, typed):
    typed("Hello")
    Conversation.objects.update(memory_mode="off")
    assert "nothing was saved or forgotten" in report("Forget that I play the tuba.")
