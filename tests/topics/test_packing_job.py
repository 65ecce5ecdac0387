"""A topic that was left is summed up and packed; a model that fails costs the summary only."""

from __future__ import annotations

import pytest

from chat.actions import jobs
from chat.jobs.registry import SLOW
from chat.jobs.runner import run_due
from chat.llm.registry import ModelState, Status, registry
from chat.llm.types import ProviderError
from chat.models import Job, Message, Topic, TopicArchive, UsageRecord
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


def test_a_model_that_fails_does_not_keep_it_from_being_packed_either(asked_for, scripted, caplog):
    scripted.completions.append(ProviderError("The server is away."))
    run_due(KINDS)
    assert TopicArchive.objects.get().count == 12
    assert "packed without a summary" in caplog.text


def test_without_a_model_it_is_packed_all_the_same(asked_for):
    run_due(KINDS)
    assert TopicArchive.objects.get().count == 12


def test_while_the_model_loads_it_waits(asked_for):
    registry._set(Status(ModelState.LOADING, "m", "Model", "The model is loading."))
    run_due(KINDS)
    assert not TopicArchive.objects.exists()
    assert Job.objects.get(kind="pack_topic").attempts == 0


def test_a_topic_that_became_the_active_one_or_has_gone_is_left_alone(asked_for, exchange, scripted):
    exchange("bread")
    run_due(KINDS)
    assert not TopicArchive.objects.exists()
    jobs.enqueue("pack_topic", {"topic": "00000000-0000-0000-0000-000000000000"})
    run_due(KINDS)
    assert scripted.calls == []


def test_it_never_holds_up_a_look_at_a_message():
    assert "pack_topic" in SLOW
