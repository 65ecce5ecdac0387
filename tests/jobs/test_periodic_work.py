"""What comes again by itself: the night's pruning, and the sweeps of each half an hour."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import deletions, jobs, prompts
from chat.jobs import schedule
from chat.jobs.registry import HANDLERS, PERIODIC, Postpone
from chat.jobs.runner import run_due
from chat.models import (
    Conversation,
    Deletion,
    Job,
    Message,
    OwnerSettings,
    PromptReport,
    Relationship,
)

pytestmark = pytest.mark.django_db
DAY = 86400


class TestRows:
    """One row a kind, which stays while its work is done."""

    @pytest.fixture
    def every_minute(self, monkeypatch):
        monkeypatch.setitem(PERIODIC, "test", lambda now: now + timedelta(minutes=1))
        jobs.enqueue("test", {}, key="test")

        def does(action):
            monkeypatch.setitem(HANDLERS, "test", lambda payload: action())

        return does

    def test_when_it_is_done_it_waits_for_its_next_time(self, clock, every_minute):
        every_minute(lambda: None)
        assert run_due(["test"]) == 1
        job = Job.objects.get()
        assert (job.run_after, job.attempts, job.lease_until) == (clock(60), 0, None)
        assert run_due(["test"]) == 1

    def test_after_five_failures_it_does_not_give_up_but_waits_for_its_next_time(self, clock, every_minute):
        def breaks():
            raise ValueError("no")

        every_minute(breaks)
        for _ in range(5):
            assert run_due(["test"]) == 0
            now = clock(0)
            before = Job.objects.get()
            clock((before.run_after - now).total_seconds())
        job = Job.objects.get()
        assert (job.failed_at, job.attempts, job.last_error) == (None, 0, "ValueError: no")
        every_minute(lambda: None)
        assert run_due(["test"]) == 1
        assert Job.objects.get().last_error == ""

    def test_postponed_it_comes_as_soon_as_it_was_put_off_to(self, clock, every_minute):
        def later():
            raise Postpone(until)

        until = clock(0) + timedelta(seconds=5)
        every_minute(later)
        run_due(["test"])
        assert Job.objects.get().run_after == until

    def test_one_that_was_cancelled_is_there_again_after_the_next_start(self, clock):
        schedule.plan(clock(0))
        run_due()
        assert jobs.cancel(Job.objects.values_list("pk", flat=True), timezone.now()) == len(PERIODIC)
        schedule.plan(timezone.now())
        assert set(Job.objects.values_list("kind", flat=True)) == set(PERIODIC)

    def test_what_is_there_is_not_hurried_by_making_sure_that_it_is(self, clock):
        schedule.plan(clock(0))
        run_due()
        before = dict(Job.objects.values_list("kind", "run_after"))
        Job.objects.filter(kind="nightly").delete()
        schedule.ensure(clock(60))
        after = dict(Job.objects.values_list("kind", "run_after"))
        assert after == before | {"nightly": timezone.now()}


class TestPruning:
    """Conversations in which nobody wrote for long are deleted at night, if the owner wants that."""

    @pytest.fixture
    def night(self, owner, clock):
        """Returns a doer of the work of a night some days on, with a number of days to keep chats."""

        def work(days_on: int, keep: int):
            OwnerSettings.objects.filter(owner=owner).update(prune_after=keep)
            clock(days_on * DAY)
            schedule.tonight(timezone.now())
            return Conversation.objects.count()

        return work

    def test_it_is_off_by_default(self, owner, say, night):
        assert OwnerSettings().prune_after == 0
        say("Hello")
        assert night(400, 0) == 1

    def test_after_so_many_days_without_a_word_they_are_gone_with_all_that_belongs_to_them(self, say, night):
        conversation = say("Hello")
        assert night(29, 30) == 1
        assert night(2, 30) == 0
        assert not Message.objects.exists()
        assert not Job.objects.filter(dedupe_key__contains=str(conversation.pk)).exists()
        [freed] = Job.objects.filter(kind="free_caches")
        assert freed.payload == {"conversations": [str(conversation.pk)]}

    def test_pinned_ones_and_those_with_a_flagged_message_stay(self, say, night):
        Conversation.objects.filter(pk=say("One").pk).update(pinned=True)
        say("Two").messages.filter(seq=2).update(flagged=True)
        say("Three")
        assert night(31, 30) == 2

    def test_what_was_learned_stays(self, say, night, make_fact):
        fact = make_fact("User likes tea", source_conversation=say("I like tea"))
        assert night(31, 30) == 0
        fact.refresh_from_db()
        assert fact.source_conversation is None

    def test_a_temporary_one_that_is_still_open_is_left_to_its_own_end(self, say, night):
        Conversation.objects.filter(pk=say("Hello").pk).update(temporary=True)
        assert night(31, 30) == 1

    def test_one_that_can_still_be_brought_back_is_left_alone(self, owner, say, night):
        gone = deletions.delete_conversation(say("Hello"))
        assert night(31, 30) == 1
        assert Deletion.objects.get(pk=gone.pk).state == "pending"

    def test_other_peoples_chats_are_theirs_to_prune(self, owner, other, say, night):
        Conversation.objects.filter(pk=say("Hello").pk).update(owner=other)
        assert night(31, 30) == 1


class TestSweeps:
    """What lost its own job is seen to all the same."""

    def test_a_deletion_whose_job_was_lost_is_finished(self, clock, owner, make_fact):
        batch = deletions.forget(owner, [make_fact("User likes tea").pk])
        Job.objects.all().delete()
        schedule.plan(clock(30))
        run_due(["sweep_deletions"])
        assert Deletion.objects.get(pk=batch.pk).state == "done"

    def test_a_fact_that_the_graph_has_not_read_is_read(self, clock, make_fact):
        make_fact("User lives in Oslo", kind="home", category="identity")
        make_fact("User likes tea")
        schedule.plan(clock(0))
        run_due(["sweep_graph", "catch_up_graph"])
        assert Relationship.objects.count() == 2
        clock(1800)
        assert run_due(["sweep_graph", "catch_up_graph"]) == 2

    @pytest.fixture
    def nearly_full(self, say):
        conversation = say("Hello")
        reply = conversation.messages.get(seq=2)
        PromptReport.objects.create(reply=reply, prompt_tokens=1500, completion_tokens=100, window=2048)
        Job.objects.all().delete()
        return conversation

    def test_a_conversation_near_its_window_that_nobody_sees_to_is_summed_up(self, clock, nearly_full):
        schedule.plan(clock(0))
        run_due(["sweep_summaries"])
        job = Job.objects.get(kind="prepare")
        assert job.payload == {"conversation": str(nearly_full.pk), "tokens": 1600, "window": 2048}

    def test_two_queries_find_them(self, clock, nearly_full, django_assert_num_queries):
        with django_assert_num_queries(2):
            assert prompts.lagging(timezone.now()) == [(nearly_full.pk, 1600, 2048)]

    def test_what_is_at_work_or_made_ready_or_old_or_short_or_gone_is_left_alone(self, clock, nearly_full):
        def found() -> list:
            return prompts.lagging(timezone.now())

        prompts.ask_to_prepare(nearly_full.pk, 1600, 2048)
        assert found() == []
        Job.objects.update(failed_at=timezone.now())
        assert len(found()) == 1
        Conversation.objects.update(prepared={})
        assert found() == []
        Conversation.objects.update(prepared=None)
        PromptReport.objects.update(prompt_tokens=1000)
        assert found() == []
        PromptReport.objects.update(prompt_tokens=1500)
        deletions.delete_conversation(nearly_full)
        assert found() == []
        Conversation.objects.update(deletion=None)
        clock(8 * DAY)
        assert found() == []
