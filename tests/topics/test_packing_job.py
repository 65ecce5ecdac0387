"""A topic that was left is summed up portion by portion and packed; what cannot be told costs no packing."""

from __future__ import annotations

import pytest
from django.utils import timezone

from chat.actions import jobs
from chat.context import summary
from chat.jobs.registry import SLOW
from chat.jobs.runner import run_due
from chat.llm.registry import registry
from chat.llm.state import ModelState, Status
from chat.llm.types import ProviderError, Unfinished, Usage
from chat.models import Energy, Job, Message, Topic, TopicArchive, UsageRecord
from tests.minutes import minutes

pytestmark = pytest.mark.django_db
KINDS = {"pack_topic"}


@pytest.fixture
def asked_for(bread):
    """The topic, with the job that packs it."""
    jobs.enqueue("pack_topic", {"topic": str(bread.pk)}, key=f"pack_topic:{bread.pk}")
    return bread


def test_it_is_summed_up_and_packed(asked_for, scripted):
    scripted.default_completion = minutes
    assert run_due(KINDS) == 1
    topic = Topic.objects.get(pk=asked_for.pk)
    assert topic.summary.startswith("The user: Question 3 about bread: how is it done.")
    assert TopicArchive.objects.get().count == 12
    assert {record.purpose for record in UsageRecord.objects.all()} == {"summary"}
    assert not Job.objects.filter(kind="pack_topic").exists()


def test_the_model_is_given_what_leaves_and_its_words_join_the_summary_so_far(asked_for, scripted):
    Topic.objects.filter(pk=asked_for.pk).update(summary="They have a starter.")
    scripted.default_completion = minutes
    leaving = list(Message.objects.filter(topic=asked_for).order_by("seq"))[:12]
    run_due(KINDS)
    assert Topic.objects.get(pk=asked_for.pk).summary.startswith("They have a starter. The user: ")
    said = "\n".join(call.turns[-1].content for call in scripted.calls)
    assert all(" ".join(m.content.split()) in said for m in leaving)


def test_what_came_back_is_not_summed_up_twice(asked_for, exchange, left_behind, scripted):
    scripted.default_completion = minutes
    run_due(KINDS)
    exchange("bread", "How long does the crust of a loaf stay crisp?")
    exchange("boats")
    left_behind()
    jobs.enqueue("pack_topic", {"topic": str(asked_for.pk)})
    run_due(KINDS)
    assert TopicArchive.objects.get().count == 14
    said = scripted.calls[-1].turns[-1].content
    assert "Answer 16." in said
    assert "Question 3 about bread" not in said


def test_a_summary_that_failed_does_not_keep_it_from_being_packed(asked_for, scripted, caplog):
    scripted.default_completion = ""
    Topic.objects.filter(pk=asked_for.pk).update(summary="The old one.")
    run_due(KINDS)
    assert Topic.objects.get(pk=asked_for.pk).summary == "The old one."
    assert TopicArchive.objects.get().count == 12
    assert "was not summed up" in caplog.text


def test_a_model_that_fails_is_asked_again_and_nothing_is_packed_without_its_summary(asked_for, scripted):
    scripted.completions.append(ProviderError("The server is away."))
    run_due(KINDS)
    assert not TopicArchive.objects.exists()
    assert Job.objects.get(kind="pack_topic").attempts == 1
    assert "The server is away." in Job.objects.get(kind="pack_topic").last_error


@pytest.mark.parametrize("state", [ModelState.MISSING, ModelState.LOADING, ModelState.FAILED])
def test_without_a_model_it_waits(asked_for, state):
    registry._set(Status(state, "m", "Model", "The model is not there."))
    run_due(KINDS)
    assert not TopicArchive.objects.exists()
    assert Job.objects.get(kind="pack_topic").attempts == 0


@pytest.fixture
def in_portions(monkeypatch):
    """What leaves is more than the model reads at once."""
    monkeypatch.setattr(summary, "READ_AT_ONCE", 60)


def test_what_was_told_before_the_program_ended_is_kept_and_not_asked_for_again(
    asked_for, scripted, in_portions
):
    scripted.default_completion = minutes
    scripted.completions.extend([minutes, Unfinished(Usage())])
    run_due(KINDS)
    half = Topic.objects.get(pk=asked_for.pk)
    assert half.summarised_through > 0
    assert not TopicArchive.objects.exists()
    Job.objects.update(run_after=timezone.now())
    run_due(KINDS)
    whole = Topic.objects.get(pk=asked_for.pk)
    assert whole.summary.startswith(half.summary)
    assert whole.summarised_through > half.summarised_through
    assert TopicArchive.objects.get().count == 12
    asked = [call.turns[-1].content for call in scripted.calls]
    assert len(asked) == len(set(asked)) + 1


def test_each_portion_asks_for_energy(asked_for, scripted, in_portions):
    scripted.default_completion = minutes
    scripted.seconds = lambda call: 3.0
    Energy.objects.create(level=38.0, measured_at=timezone.now())
    run_due(KINDS)
    assert len(scripted.calls) == 1
    assert Topic.objects.get(pk=asked_for.pk).summarised_through > 0
    assert Job.objects.get(kind="pack_topic").run_after > timezone.now()


def test_a_topic_that_became_the_active_one_or_has_gone_is_left_alone(asked_for, exchange, scripted):
    exchange("bread")
    run_due(KINDS)
    assert not TopicArchive.objects.exists()
    jobs.enqueue("pack_topic", {"topic": "00000000-0000-0000-0000-000000000000"})
    run_due(KINDS)
    assert scripted.calls == []


def test_it_never_holds_up_a_look_at_a_message():
    assert "pack_topic" in SLOW
