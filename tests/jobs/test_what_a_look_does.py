"""What a look does to what is known: stores what was told, ends what is over, leaves what was edited."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import archive
from chat.actions import messages as actions
from chat.actions.facts import edit_fact
from chat.jobs import runner
from chat.llm.types import Lane
from chat.models import ExtractionRun, Fact, FactEvent, Job, UsageRecord

from .looking import look

pytestmark = pytest.mark.django_db


def test_what_the_user_asks_to_remember_is_read_at_once_and_marked_as_told(scripted, owner):
    scripted.completions.append("health: User takes blood thinners")
    asked, _ = actions.send_message(owner, "Remember that I take blood thinners.")
    # The reply is still being written; what was asked for waits for no idleness.
    assert Job.objects.get(kind="extract").run_after <= timezone.now()
    assert asked.conversation.__class__.objects.get().is_flushed
    runner.run_due({"extract"})
    fact = Fact.objects.get()
    assert (fact.text, fact.origin) == ("User takes blood thinners", "told")
    assert scripted.calls[-1].lane is Lane.INTERACTIVE
    assert UsageRecord.objects.get(purpose="extract").lane == "interactive"


def test_a_sentence_that_only_ends_something_ends_the_fact_and_stores_nothing(
    clock, scripted, say, make_fact
):
    fact = make_fact("User is building a bookshop website", kind="building", category="project")
    scripted.completions.extend(["none", "DELETE 1"])
    say("I dropped the bookshop website, it's over.")
    look(clock)
    fact.refresh_from_db()
    assert fact.archived_at is not None
    assert not Fact.objects.live().exists()
    archive.bring_back(fact)
    assert Fact.objects.live().get() == fact
    assert FactEvent.objects.filter(fact=fact).first().reason == "the user said that it is over"
    run = ExtractionRun.objects.get()
    assert (run.stored, run.ended, run.error) == (0, 1, "")
    assert UsageRecord.objects.filter(purpose="consolidate").exists()


def test_a_decision_that_cannot_be_read_twice_adds_and_says_so(clock, scripted, say, make_fact):
    old = make_fact("User smokes a pack a day", kind="habit", category="preference")
    scripted.completions.extend(["habit: User quit smoking in January", "well…", "hmm"])
    say("I quit smoking in January.")
    look(clock)
    assert {f.text for f in Fact.objects.live()} == {old.text, "User quit smoking in January"}
    assert "stored beside" in ExtractionRun.objects.get().error
    assert not Job.objects.filter(kind="extract").exists()


def test_a_fact_that_is_edited_while_the_model_decides_is_not_replaced(clock, scripted, say, make_fact):
    old = make_fact("User smokes a pack a day", kind="habit", category="preference")

    def meanwhile(turns) -> str:
        edit_fact(old, "User smokes cigars on Sundays")
        return "UPDATE 1"

    scripted.completions.extend(["habit: User quit smoking in January", meanwhile])
    say("I quit smoking in January.")
    look(clock)
    assert {f.text for f in Fact.objects.live()} == {
        "User smokes cigars on Sundays",
        "User quit smoking in January",
    }
