"""Extraction stores explicit requests, archives facts that ended, and does not replace edited facts."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import archive, graph
from chat.actions import messages as actions
from chat.actions.facts import edit_fact
from chat.jobs import runner
from chat.llm.types import Lane
from chat.models import ExtractionRun, Fact, FactEvent, Job, UsageRecord

from .run_extraction import run_extraction_jobs

pytestmark = pytest.mark.django_db


def test_an_explicit_request_is_extracted_immediately_with_origin_told(scripted, owner):
    scripted.completions.append("health: User takes blood thinners")
    asked, _ = actions.send_message(owner, "Remember that I take blood thinners.")
    # The reply is still running; an explicit request does not wait until the model is idle.
    assert Job.objects.get(kind="extract").run_after <= timezone.now()
    assert asked.conversation.__class__.objects.get().has_flushed_messages
    runner.run_due({"extract"})
    fact = Fact.objects.get()
    assert (fact.text, fact.origin) == ("User takes blood thinners", "told")
    assert scripted.calls[-1].lane is Lane.INTERACTIVE
    assert UsageRecord.objects.get(purpose="extract").lane == "interactive"


def test_a_message_that_ends_a_fact_archives_it_and_stores_nothing(clock, scripted, add_exchange, make_fact):
    fact = make_fact("User is building a bookshop website", kind="building", category="project")
    scripted.completions.extend(["none", "DELETE 1"])
    add_exchange("I dropped the bookshop website, it's over.")
    run_extraction_jobs(clock)
    fact.refresh_from_db()
    assert fact.archived_at is not None
    assert not Fact.objects.live().exists()
    archive.restore_archived_fact(fact)
    assert Fact.objects.live().get() == fact
    assert FactEvent.objects.filter(fact=fact).first().reason == "the user said that it is over"
    run = ExtractionRun.objects.get()
    assert (run.stored, run.ended, run.error) == (0, 1, "")
    assert UsageRecord.objects.filter(purpose="consolidate").exists()


def test_after_two_unreadable_decisions_the_fact_is_added_with_an_error(
    clock, scripted, add_exchange, make_fact
):
    old = make_fact("User smokes a pack a day", kind="habit", category="preference")
    scripted.completions.extend(["habit: User quit smoking in January", "well…", "hmm"])
    add_exchange("I quit smoking in January.")
    run_extraction_jobs(clock)
    assert {f.text for f in Fact.objects.live()} == {old.text, "User quit smoking in January"}
    assert ExtractionRun.objects.get().error == "comparison-undecided"
    assert not Job.objects.filter(kind="extract").exists()


def test_a_fact_edited_while_the_model_decides_is_not_replaced(clock, scripted, add_exchange, make_fact):
    old = make_fact("User smokes a pack a day", kind="habit", category="preference")

    def edit_and_decide(turns) -> str:
        edit_fact(old, "User smokes cigars on Sundays")
        return "UPDATE 1"

    scripted.completions.extend(["habit: User quit smoking in January", edit_and_decide])
    add_exchange("I quit smoking in January.")
    run_extraction_jobs(clock)
    assert {f.text for f in Fact.objects.live()} == {
        "User smokes cigars on Sundays",
        "User quit smoking in January",
    }


@pytest.fixture
def selene(make_fact, owner):
    """A fact about a project, with its entity in the graph."""
    fact = make_fact(
        "User is building Selene", kind="building", category="project", quote="I'm building Selene."
    )
    graph.sync_facts(owner, [fact])
    return fact


def test_a_detail_is_merged_into_the_fact_that_it_completes(clock, scripted, add_exchange, selene):
    merged = "User is building Selene, which is written in TypeScript"
    scripted.completions.extend(["tools: User's Selene is written in TypeScript", f"UPDATE 1: {merged}"])
    add_exchange("Selene is written in TypeScript.")
    run_extraction_jobs(clock)
    new = Fact.objects.live().get()
    assert (new.text, new.kind, new.category, new.supersedes) == (merged, "building", "project", selene)
    assert new.quote == "I'm building Selene. … Selene is written in TypeScript."
    assert Job.objects.filter(kind="reindex").exists()
    assert FactEvent.objects.filter(fact=selene).first().reason == "completed by what was said later"


def test_a_merged_text_with_an_invented_word_changes_nothing_and_the_detail_is_added(
    clock, scripted, add_exchange, selene
):
    scripted.completions.extend(
        [
            "tools: User's Selene is written in TypeScript",
            "UPDATE 1: User is building Selene in TypeScript for her company",
        ]
    )
    add_exchange("Selene is written in TypeScript.")
    run_extraction_jobs(clock)
    assert {f.text for f in Fact.objects.live()} == {selene.text, "User's Selene is written in TypeScript"}


def test_a_sentence_about_a_thing_that_is_not_the_users_is_not_read(clock, scripted, add_exchange, selene):
    add_exchange("Photoshop is written in C++.")
    run_extraction_jobs(clock)
    assert Fact.objects.live().get() == selene
    assert not scripted.calls
