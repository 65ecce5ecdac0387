"""An inactive topic is summarised part by part and packed; a failed summary does not prevent packing."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import jobs
from chat.context import summary
from chat.errors import ProviderError, Reason, Unfinished
from chat.jobs.registry import SLOW
from chat.jobs.runner import run_due
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.llm.types import Usage
from chat.models import Energy, Job, Message, Topic, TopicArchive, UsageRecord
from tests.scripted_summary import summarise_turns

pytestmark = pytest.mark.django_db
KINDS = {"pack_topic"}


@pytest.fixture
def queued_topic(bread):
    """The topic, with the job that packs it."""
    jobs.enqueue("pack_topic", {"topic": str(bread.pk)}, key=f"pack_topic:{bread.pk}")
    return bread


def test_a_topic_is_summarised_and_packed(queued_topic, scripted):
    scripted.default_completion = summarise_turns
    assert run_due(KINDS) == 1
    topic = Topic.objects.get(pk=queued_topic.pk)
    assert topic.summary.startswith("The user: Question 3 about bread: how is it done.")
    assert TopicArchive.objects.get().count == 12
    assert {record.purpose for record in UsageRecord.objects.all()} == {"summary"}
    assert not Job.objects.filter(kind="pack_topic").exists()


def test_the_model_summarises_the_packed_messages_and_extends_the_summary(queued_topic, scripted):
    Topic.objects.filter(pk=queued_topic.pk).update(summary="They have a starter.")
    scripted.default_completion = summarise_turns
    leaving = list(Message.objects.filter(topic=queued_topic).order_by("seq"))[:12]
    run_due(KINDS)
    assert Topic.objects.get(pk=queued_topic.pk).summary.startswith("They have a starter. The user: ")
    said = "\n".join(call.turns[-1].content for call in scripted.calls)
    assert all(" ".join(m.content.split()) in said for m in leaving)


def test_unpacked_messages_are_not_summarised_twice(queued_topic, exchange, mark_processed, scripted):
    scripted.default_completion = summarise_turns
    run_due(KINDS)
    exchange("bread", "How long does the crust of a loaf stay crisp?")
    exchange("boats")
    mark_processed()
    jobs.enqueue("pack_topic", {"topic": str(queued_topic.pk)})
    run_due(KINDS)
    assert TopicArchive.objects.get().count == 14
    said = scripted.calls[-1].turns[-1].content
    assert "Answer 16." in said
    assert "Question 3 about bread" not in said


def test_a_failed_summary_does_not_prevent_packing(queued_topic, scripted, caplog):
    scripted.default_completion = ""
    Topic.objects.filter(pk=queued_topic.pk).update(summary="The old one.")
    run_due(KINDS)
    assert Topic.objects.get(pk=queued_topic.pk).summary == "The old one."
    assert TopicArchive.objects.get().count == 12
    assert "could not be summarised" in caplog.text


def test_a_failing_model_is_retried_and_nothing_is_packed_before(queued_topic, scripted):
    scripted.completions.append(ProviderError("verbatim", sentence="The server is away."))
    run_due(KINDS)
    assert not TopicArchive.objects.exists()
    assert Job.objects.get(kind="pack_topic").attempts == 1
    assert "The server is away." in Job.objects.get(kind="pack_topic").last_error


@pytest.mark.parametrize("state", [ModelState.MISSING, ModelState.LOADING, ModelState.FAILED])
def test_without_a_model_the_job_waits(queued_topic, state):
    registry.set_status(ModelStatus(state, "m", "Model", Reason("no-model")))
    run_due(KINDS)
    assert not TopicArchive.objects.exists()
    assert Job.objects.get(kind="pack_topic").attempts == 0


@pytest.fixture
def in_portions(monkeypatch):
    """More messages are packed than the model reads at once."""
    monkeypatch.setattr(summary, "PORTION_TOKENS", 60)


def test_the_summary_so_far_survives_a_restart(queued_topic, scripted, in_portions):
    scripted.default_completion = summarise_turns
    scripted.completions.extend([summarise_turns, Unfinished(Usage())])
    run_due(KINDS)
    half = Topic.objects.get(pk=queued_topic.pk)
    assert half.summarised_through > 0
    assert not TopicArchive.objects.exists()
    Job.objects.update(run_after=timezone.now())
    run_due(KINDS)
    whole = Topic.objects.get(pk=queued_topic.pk)
    assert whole.summary.startswith(half.summary)
    assert whole.summarised_through > half.summarised_through
    assert TopicArchive.objects.get().count == 12
    asked = [call.turns[-1].content for call in scripted.calls]
    assert len(asked) == len(set(asked)) + 1


def test_each_part_needs_energy(queued_topic, scripted, in_portions):
    scripted.default_completion = summarise_turns
    scripted.seconds = lambda call: 3.0
    Energy.objects.create(pk=1, level=38.0, measured_at=timezone.now())
    run_due(KINDS)
    assert len(scripted.calls) == 1
    assert Topic.objects.get(pk=queued_topic.pk).summarised_through > 0
    assert Job.objects.get(kind="pack_topic").run_after > timezone.now()


def test_an_active_or_deleted_topic_is_not_packed(queued_topic, exchange, scripted):
    exchange("bread")
    run_due(KINDS)
    assert not TopicArchive.objects.exists()
    jobs.enqueue("pack_topic", {"topic": "00000000-0000-0000-0000-000000000000"})
    run_due(KINDS)
    assert scripted.calls == []


def test_packing_has_a_lower_priority_than_extraction():
    assert "pack_topic" in SLOW
