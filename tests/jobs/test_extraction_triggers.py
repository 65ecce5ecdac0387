"""Idle time, backlogs and flushes start extraction; presses and inactivity end conversations."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import conversation_jobs, conversations, jobs
from chat.actions import messages as actions
from chat.errors import Refused
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.jobs import runner
from chat.models import Conversation, Fact, Job
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture
def running_reply(talk, scripted):
    """A reply in another conversation that runs for the whole test."""
    scripted.gate = threading.Semaphore(0)
    _, reply = talk("Tell me a long story.")
    Conversation.objects.update(extracted_through=1)
    Job.objects.all().delete()
    generation.start(reply)
    wait_until(lambda: generation.count_running())
    yield reply
    scripted.gate.release(1000)
    generation.wait_all()


def get_extraction_job(conversation: Conversation) -> Job:
    return Job.objects.get(dedupe_key=f"extract:{conversation.pk}")


def count_unextracted(conversation: Conversation) -> int:
    conversation.refresh_from_db()
    return conversation.messages.not_extracted(conversation).count()


class TestIdle:
    """A message is extracted after the model has been idle for two seconds."""

    def test_each_message_restarts_the_two_seconds(self, clock, add_exchange):
        conversation = add_exchange("I like chess.")
        clock(1.5)
        add_exchange("And tennis.", conversation)
        assert get_extraction_job(conversation).run_after == timezone.now() + timedelta(seconds=2)

    @pytest.mark.django_db(transaction=True)
    def test_extraction_is_postponed_by_five_seconds_while_a_reply_runs(self, add_exchange, running_reply):
        conversation = add_exchange("I like chess.")
        Job.objects.filter(kind="extract").update(run_after=timezone.now())
        before = timezone.now()
        assert runner.run_one(["extract"])
        pause = get_extraction_job(conversation).run_after - before
        assert timedelta(seconds=5) <= pause < timedelta(seconds=7)
        assert count_unextracted(conversation) == 1


class TestBacklog:
    """Five unextracted messages are extracted without waiting until the model is idle."""

    def test_the_fifth_message_makes_extraction_due_immediately(self, clock, add_exchange):
        conversation = add_exchange("One.")
        for text in ("Two.", "Three.", "Four."):
            add_exchange(text, conversation)
        assert get_extraction_job(conversation).run_after > timezone.now()
        add_exchange("Five.", conversation)
        assert get_extraction_job(conversation).run_after == timezone.now()

    def test_the_backlog_counts_all_conversations_of_the_owner(self, clock, add_exchange):
        first = add_exchange("One.")
        for text in ("Two.", "Three."):
            add_exchange(text, first)
        second = add_exchange("Four.")
        assert get_extraction_job(first).run_after > timezone.now()
        add_exchange("Five.", second)
        assert {get_extraction_job(c).run_after for c in (first, second)} == {timezone.now()}

    def test_messages_sent_while_memory_was_off_are_no_backlog(self, clock, add_exchange):
        conversation = add_exchange("One.")
        Conversation.objects.update(memory_mode="off")
        for text in ("Two.", "Three.", "Four.", "Five.", "Six."):
            add_exchange(text, Conversation.objects.get())
        assert not Conversation.objects.get().has_flushed_messages
        assert count_unextracted(conversation) == 0

    @pytest.mark.django_db(transaction=True)
    def test_the_backlog_is_extracted_while_a_reply_runs(self, add_exchange, running_reply, scripted):
        conversation = add_exchange("I like chess.")
        for text in ("Two.", "Three.", "Four.", "Five."):
            add_exchange(text, conversation)
        scripted.completions.append("likes: User likes chess")
        assert runner.run_one(["extract"])
        assert generation.count_running()
        assert count_unextracted(conversation) == 0
        assert Fact.objects.get().text == "User likes chess"

    @pytest.mark.django_db(transaction=True)
    def test_messages_after_the_backlog_wait_for_idleness_again(self, add_exchange, running_reply):
        conversation = add_exchange("One.")
        for text in ("Two.", "Three.", "Four.", "Five."):
            add_exchange(text, conversation)
        runner.run_due(["extract"])
        add_exchange("Six.", conversation)
        assert get_extraction_job(conversation).run_after > timezone.now()


class TestFlush:
    """When a page is closed or hidden, its conversation is extracted immediately."""

    def test_a_flushed_job_stays_due_when_the_reply_ends(self, clock, talk):
        asked, reply = talk("I like chess.")
        assert conversation_jobs.flush_extraction(asked.conversation_id) == 1
        actions.finish_reply(reply, "All right.", "complete")
        assert get_extraction_job(asked.conversation).run_after == timezone.now()

    def test_repeated_flushes_create_one_job(self, clock, add_exchange):
        conversation = add_exchange("I like chess.")
        for _ in range(3):
            conversation_jobs.flush_extraction(conversation.pk)
        assert Job.objects.filter(kind="extract").count() == 1

    def test_a_flush_without_unextracted_messages_creates_no_job(self, clock, add_exchange, scripted):
        conversation = add_exchange("I like chess.")
        clock(2)
        runner.run_due(["extract"])
        assert conversation_jobs.flush_extraction(conversation.pk) == 0
        assert not Job.objects.filter(kind="extract").exists()

    @pytest.mark.django_db(transaction=True)
    def test_a_flushed_conversation_is_extracted_while_a_reply_runs(self, add_exchange, running_reply):
        conversation = add_exchange("I like chess.")
        conversation_jobs.flush_extraction(conversation.pk)
        assert runner.run_one(["extract"])
        assert count_unextracted(conversation) == 0


class TestEnd:
    """A conversation ends by the user's command or after inactivity."""

    def test_ending_a_conversation_sets_the_time_once_and_flushes(self, clock, add_exchange):
        conversation = add_exchange("I like chess.")
        assert conversations.end_conversation(conversation)
        at = Conversation.objects.get().ended_at
        assert at == timezone.now()
        assert get_extraction_job(conversation).run_after == timezone.now()
        clock(1)
        assert not conversations.end_conversation(conversation)
        assert Conversation.objects.get().ended_at == at

    def test_a_new_message_reopens_the_conversation(self, clock, add_exchange):
        conversation = add_exchange("I like chess.")
        conversations.end_conversation(conversation)
        add_exchange("One more thing.", conversation)
        assert Conversation.objects.get().ended_at is None

    def test_a_reply_that_finishes_after_the_end_does_not_reopen(self, clock, talk):
        asked, reply = talk("I like chess.")
        conversations.end_conversation(asked.conversation)
        actions.finish_reply(reply, "All right.", "complete")
        assert Conversation.objects.get().ended_at is not None

    def test_a_conversation_ends_ten_minutes_after_the_last_message(self, clock, add_exchange):
        add_exchange("I like chess.")
        clock(599)
        assert runner.run_due(["end_idle"]) == 0
        clock(1)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at == timezone.now()
        assert not Job.objects.filter(kind="end_idle").exists()

    def test_a_message_restarts_the_ten_minutes(self, clock, add_exchange):
        conversation = add_exchange("I like chess.")
        clock(500)
        add_exchange("And tennis.", conversation)
        clock(200)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is None

    def test_the_ten_minutes_start_when_a_long_reply_ends(self, clock, talk):
        _, reply = talk("Tell me everything.")
        clock(550)
        actions.finish_reply(reply, "Everything.", "complete")
        clock(60)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is None
        clock(540)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is not None

    def test_an_open_page_prevents_the_end_until_ten_minutes_after_closing(self, clock, add_exchange):
        conversation = add_exchange("I like chess.")
        page = object()
        hub.watch(str(conversation.pk), page)
        clock(600)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is None
        hub.unwatch(str(conversation.pk), page)
        conversations.schedule_end_after_close(conversation.pk)
        clock(599)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is None
        clock(1)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is not None

    def test_an_overdue_end_waits_for_pages_to_reconnect_after_a_start(self, clock, add_exchange):
        add_exchange("I like chess.")
        clock(5000)
        # The next process starts.
        jobs.release_leases(timezone.now())
        conversations.postpone_ends_at_start(timezone.now())
        assert runner.run_due(["end_idle"]) == 0
        clock(20)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is not None

    def test_closing_the_page_of_an_ended_conversation_queues_no_job(self, clock, add_exchange):
        conversation = add_exchange("I like chess.")
        conversations.end_conversation(conversation)
        clock(600)
        runner.run_due(["end_idle"])
        conversations.schedule_end_after_close(conversation.pk)
        assert not Job.objects.filter(kind="end_idle").exists()


class TestMode:
    """The memory mode of a conversation."""

    @pytest.mark.parametrize("mode", ["off", "read_only"])
    def test_messages_waiting_when_memory_is_turned_off_are_never_extracted(
        self, clock, add_exchange, scripted, mode
    ):
        conversation = add_exchange("I like chess.")
        conversations.set_memory_mode(conversation, mode)
        conversations.set_memory_mode(conversation, "on")
        clock(2)
        runner.run_due(["extract"])
        assert scripted.calls == []

    def test_messages_after_memory_is_on_again_are_extracted(self, clock, add_exchange, scripted):
        conversation = add_exchange("I like chess.")
        conversations.set_memory_mode(conversation, "off")
        conversations.set_memory_mode(conversation, "on")
        add_exchange("I play tennis.", Conversation.objects.get())
        scripted.completions.append("habit: User plays tennis")
        clock(2)
        runner.run_due(["extract"])
        assert Fact.objects.get().text == "User plays tennis"

    def test_an_unknown_mode_is_refused(self, add_exchange):
        with pytest.raises(Refused):
            conversations.set_memory_mode(add_exchange("Hello."), "sometimes")
        assert Conversation.objects.get().memory_mode == "on"
