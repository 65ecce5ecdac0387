"""When memory looks, and when a conversation has ended (design §5, "When" and "End of a conversation")."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import conversations, jobs
from chat.actions import messages as actions
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.jobs import runner
from chat.models import Conversation, Fact, Job
from tests.waiting import until

pytestmark = pytest.mark.django_db


@pytest.fixture
def busy(talk, scripted):
    """A reply in another conversation that is being written for as long as the test lasts."""
    scripted.gate = threading.Semaphore(0)
    _, reply = talk("Tell me a long story.")
    Conversation.objects.update(extracted_through=1)
    Job.objects.all().delete()
    generation.start(reply)
    until(lambda: generation.running())
    yield reply
    scripted.gate.release(1000)
    generation.wait()


def look_at(conversation: Conversation) -> Job:
    return Job.objects.get(dedupe_key=f"extract:{conversation.pk}")


def unread(conversation: Conversation) -> int:
    conversation.refresh_from_db()
    return conversation.messages.unread_by_memory(conversation).count()


class TestIdle:
    """A message is read once the model has been idle for two seconds."""

    def test_each_message_and_each_end_of_a_reply_begin_the_two_seconds_anew(self, clock, say):
        conversation = say("I like chess.")
        clock(1.5)
        say("And tennis.", conversation)
        assert look_at(conversation).run_after == timezone.now() + timedelta(seconds=2)

    @pytest.mark.django_db(transaction=True)
    def test_while_a_reply_runs_the_look_is_put_off_by_five_seconds(self, say, busy):
        conversation = say("I like chess.")
        Job.objects.filter(kind="extract").update(run_after=timezone.now())
        before = timezone.now()
        assert runner.run_one(["extract"])
        pause = look_at(conversation).run_after - before
        assert timedelta(seconds=5) <= pause < timedelta(seconds=7)
        assert unread(conversation) == 1


class TestBacklog:
    """Five messages that were not read outrank idleness."""

    def test_four_wait_for_idleness_and_the_fifth_makes_the_look_due_at_once(self, clock, say):
        conversation = say("One.")
        for text in ("Two.", "Three.", "Four."):
            say(text, conversation)
        assert look_at(conversation).run_after > timezone.now()
        say("Five.", conversation)
        assert look_at(conversation).run_after == timezone.now()

    def test_the_backlog_is_the_owners_over_all_conversations(self, clock, say):
        first = say("One.")
        for text in ("Two.", "Three."):
            say(text, first)
        second = say("Four.")
        assert look_at(first).run_after > timezone.now()
        say("Five.", second)
        assert {look_at(c).run_after for c in (first, second)} == {timezone.now()}

    def test_what_was_said_while_memory_was_off_is_no_backlog(self, clock, say):
        conversation = say("One.")
        Conversation.objects.update(memory_mode="off")
        for text in ("Two.", "Three.", "Four.", "Five.", "Six."):
            say(text, Conversation.objects.get())
        assert not Conversation.objects.get().is_flushed
        assert unread(conversation) == 0

    @pytest.mark.django_db(transaction=True)
    def test_it_is_read_to_its_end_while_a_reply_runs(self, say, busy, scripted):
        conversation = say("I like chess.")
        for text in ("Two.", "Three.", "Four.", "Five."):
            say(text, conversation)
        scripted.completions.append("likes: User likes chess")
        assert runner.run_one(["extract"])
        assert generation.running()
        assert unread(conversation) == 0
        assert Fact.objects.get().text == "User likes chess"

    @pytest.mark.django_db(transaction=True)
    def test_after_the_backlog_the_next_message_waits_for_idleness_again(self, say, busy):
        conversation = say("One.")
        for text in ("Two.", "Three.", "Four.", "Five."):
            say(text, conversation)
        runner.run_due(["extract"])
        say("Six.", conversation)
        assert look_at(conversation).run_after > timezone.now()


class TestFlush:
    """A page that is left, or hidden, has its conversation read at once."""

    def test_what_waits_is_due_at_once_and_stays_so_when_the_reply_ends(self, clock, talk):
        asked, reply = talk("I like chess.")
        assert actions.flush(asked.conversation_id) == 1
        actions.finish_reply(reply, "All right.", "complete")
        assert look_at(asked.conversation).run_after == timezone.now()

    def test_however_often_it_is_asked_it_is_one_job(self, clock, say):
        conversation = say("I like chess.")
        for _ in range(3):
            actions.flush(conversation.pk)
        assert Job.objects.filter(kind="extract").count() == 1

    def test_where_nothing_waits_nothing_is_asked(self, clock, say, scripted):
        conversation = say("I like chess.")
        clock(2)
        runner.run_due(["extract"])
        assert actions.flush(conversation.pk) == 0
        assert not Job.objects.filter(kind="extract").exists()

    @pytest.mark.django_db(transaction=True)
    def test_it_is_read_while_a_reply_runs(self, say, busy):
        conversation = say("I like chess.")
        actions.flush(conversation.pk)
        assert runner.run_one(["extract"])
        assert unread(conversation) == 0


class TestEnd:
    """A conversation ends by a press, or by itself."""

    def test_the_end_is_marked_once_and_flushes(self, clock, say):
        conversation = say("I like chess.")
        assert conversations.end(conversation)
        at = Conversation.objects.get().ended_at
        assert at == timezone.now()
        assert look_at(conversation).run_after == timezone.now()
        clock(1)
        assert not conversations.end(conversation)
        assert Conversation.objects.get().ended_at == at

    def test_a_new_message_opens_it_again(self, clock, say):
        conversation = say("I like chess.")
        conversations.end(conversation)
        say("One more thing.", conversation)
        assert Conversation.objects.get().ended_at is None

    def test_a_reply_that_ends_after_the_press_does_not_open_it_again(self, clock, talk):
        asked, reply = talk("I like chess.")
        conversations.end(asked.conversation)
        actions.finish_reply(reply, "All right.", "complete")
        assert Conversation.objects.get().ended_at is not None

    def test_ten_minutes_after_the_last_message_it_ends_by_itself(self, clock, say):
        say("I like chess.")
        clock(599)
        assert runner.run_due(["end_idle"]) == 0
        clock(1)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at == timezone.now()
        assert not Job.objects.filter(kind="end_idle").exists()

    def test_a_message_begins_the_ten_minutes_anew(self, clock, say):
        conversation = say("I like chess.")
        clock(500)
        say("And tennis.", conversation)
        clock(200)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is None

    def test_a_long_reply_begins_the_ten_minutes_at_its_end(self, clock, talk):
        _, reply = talk("Tell me everything.")
        clock(550)
        actions.finish_reply(reply, "Everything.", "complete")
        clock(60)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is None
        clock(540)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is not None

    def test_an_open_page_keeps_it_open_and_its_closing_begins_the_ten_minutes(self, clock, say):
        conversation = say("I like chess.")
        page = object()
        hub.watch(str(conversation.pk), page)
        clock(600)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is None
        hub.unwatch(str(conversation.pk), page)
        conversations.left(conversation.pk)
        clock(599)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is None
        clock(1)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is not None

    def test_an_end_that_fell_into_downtime_is_caught_up_once_open_pages_are_back(self, clock, say):
        say("I like chess.")
        clock(5000)
        # The next process.
        jobs.release_leases(timezone.now())
        conversations.await_pages(timezone.now())
        assert runner.run_due(["end_idle"]) == 0
        clock(20)
        runner.run_due(["end_idle"])
        assert Conversation.objects.get().ended_at is not None

    def test_looking_at_one_that_has_ended_asks_for_nothing(self, clock, say):
        conversation = say("I like chess.")
        conversations.end(conversation)
        clock(600)
        runner.run_due(["end_idle"])
        conversations.left(conversation.pk)
        assert not Job.objects.filter(kind="end_idle").exists()


class TestMode:
    """What memory may do in one conversation."""

    @pytest.mark.parametrize("mode", ["off", "read_only"])
    def test_what_waits_when_it_is_turned_off_is_not_read_even_later(self, clock, say, scripted, mode):
        conversation = say("I like chess.")
        conversations.set_memory_mode(conversation, mode)
        conversations.set_memory_mode(conversation, "on")
        clock(2)
        runner.run_due(["extract"])
        assert scripted.calls == []

    def test_what_is_said_after_it_is_on_again_is_read(self, clock, say, scripted):
        conversation = say("I like chess.")
        conversations.set_memory_mode(conversation, "off")
        conversations.set_memory_mode(conversation, "on")
        say("I play tennis.", Conversation.objects.get())
        scripted.completions.append("habit: User plays tennis")
        clock(2)
        runner.run_due(["extract"])
        assert Fact.objects.get().text == "User plays tennis"

    def test_another_mode_than_the_three_is_refused(self, say):
        with pytest.raises(actions.Refused):
            conversations.set_memory_mode(say("Hello."), "sometimes")
        assert Conversation.objects.get().memory_mode == "on"
