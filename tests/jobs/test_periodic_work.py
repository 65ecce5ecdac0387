"""Periodic jobs: their rows, the nightly pruning, and the sweeps that run every half hour."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chat.actions import clock as clocks
from chat.actions import deletions, jobs, old_conversations, prompts
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
    """Each periodic kind has one row, which stays after each run."""

    @pytest.fixture
    def set_minute_handler(self, monkeypatch):
        monkeypatch.setitem(PERIODIC, "test", lambda now: now + timedelta(minutes=1))
        jobs.enqueue("test", {}, key="test")

        def set_handler(action):
            monkeypatch.setitem(HANDLERS, "test", lambda payload: action())

        return set_handler

    def test_a_finished_job_is_scheduled_again(self, clock, set_minute_handler):
        set_minute_handler(lambda: None)
        assert run_due(["test"]) == 1
        job = Job.objects.get()
        assert (job.run_after, job.attempts, job.lease_until) == (clock(60), 0, None)
        assert run_due(["test"]) == 1

    def test_after_five_failures_the_job_is_scheduled_again(self, clock, set_minute_handler):
        def breaks():
            raise ValueError("no")

        set_minute_handler(breaks)
        for _ in range(5):
            assert run_due(["test"]) == 0
            now = clock(0)
            before = Job.objects.get()
            clock((before.run_after - now).total_seconds())
        job = Job.objects.get()
        assert (job.failed_at, job.attempts, job.last_error) == (None, 0, "ValueError: no")
        set_minute_handler(lambda: None)
        assert run_due(["test"]) == 1
        assert Job.objects.get().last_error == ""

    def test_a_postponed_job_keeps_its_time(self, clock, set_minute_handler):
        def later():
            raise Postpone(until)

        until = clock(0) + timedelta(seconds=5)
        set_minute_handler(later)
        run_due(["test"])
        assert Job.objects.get().run_after == until

    def test_a_cancelled_job_is_created_again_at_the_next_start(self, clock):
        schedule.enqueue_all(clock(0))
        run_due()
        assert jobs.cancel(Job.objects.values_list("pk", flat=True), timezone.now()) == len(PERIODIC)
        schedule.enqueue_all(timezone.now())
        assert set(Job.objects.values_list("kind", flat=True)) == set(PERIODIC)

    def test_creating_missing_jobs_does_not_change_existing_ones(self, clock):
        schedule.enqueue_all(clock(0))
        run_due()
        before = dict(Job.objects.values_list("kind", "run_after"))
        Job.objects.filter(kind="nightly").delete()
        schedule.enqueue_missing(clock(60))
        after = dict(Job.objects.values_list("kind", "run_after"))
        assert after == before | {"nightly": timezone.now()}


class TestPruning:
    """Old conversations are deleted at night if the owner has set a pruning age."""

    @pytest.fixture
    def run_night(self, owner, clock):
        """Return a function that runs the nightly job some days later with a pruning age in days.

        It returns the number of conversations that are not deleted by age.
        """
        clocks.read_clock(clock(0))

        def work(days_on: int, keep: int):
            OwnerSettings.objects.filter(owner=owner).update(prune_after=keep)
            clocks.read_clock(clock((days_on - 1) * DAY))
            schedule.run_nightly(clock(DAY))
            return Conversation.objects.exclude(deletion__by_age=True).count()

        return work

    def test_pruning_is_off_by_default(self, owner, add_exchange, run_night):
        assert OwnerSettings().prune_after == 0
        add_exchange("Hello")
        assert run_night(400, 0) == 1

    def test_old_conversations_are_deleted_with_their_messages_and_jobs(self, add_exchange, run_night, clock):
        conversation = add_exchange("Hello")
        assert run_night(29, 30) == 1
        assert run_night(2, 30) == 0
        assert Message.objects.exists()
        clock(7 * DAY + 2)
        run_due(["finish_deletion"])
        assert not Message.objects.exists()
        assert not Job.objects.filter(dedupe_key__contains=str(conversation.pk)).exists()
        [freed] = Job.objects.filter(kind="free_caches")
        assert freed.payload == {"conversations": [str(conversation.pk)]}

    def test_they_can_be_kept_for_a_week(self, owner, other, add_exchange, run_night, clock):
        kept = {add_exchange(f"Chat {n}").pk for n in range(45)}
        assert run_night(31, 30) == 0
        assert Deletion.objects.filter(by_age=True).count() == 3
        clock(6 * DAY)
        assert old_conversations.keep_old_conversations(other) == 0
        assert old_conversations.keep_old_conversations(owner) == 45
        assert set(Conversation.objects.listed().values_list("pk", flat=True)) == kept
        clock(2 * DAY)
        run_due(["finish_deletion"])
        assert Conversation.objects.count() == 45
        assert old_conversations.keep_old_conversations(owner) == 0

    def test_who_keeps_all_chats_keeps_those_that_wait_too(self, owner, add_exchange, run_night):
        add_exchange("Hello")
        assert run_night(31, 30) == 0
        old_conversations.change_prune_after(owner, "0")
        assert Conversation.objects.listed().count() == 1

    def test_a_kept_conversation_is_not_old_again_the_next_night(self, owner, add_exchange, run_night, clock):
        add_exchange("Hello")
        run_night(31, 30)
        old_conversations.keep_old_conversations(owner)
        schedule.run_nightly(clock(DAY))
        assert Conversation.objects.listed().count() == 1
        schedule.run_nightly(clock(30 * DAY))
        assert Conversation.objects.listed().count() == 0

    def test_pinned_conversations_and_flagged_messages_are_not_pruned(self, add_exchange, run_night):
        Conversation.objects.filter(pk=add_exchange("One").pk).update(pinned=True)
        add_exchange("Two").messages.filter(seq=2).update(flagged=True)
        add_exchange("Three")
        assert run_night(31, 30) == 2

    def test_facts_of_pruned_conversations_stay(self, add_exchange, run_night, make_fact, clock):
        fact = make_fact("User likes tea", source_conversation=add_exchange("I like tea"))
        assert run_night(31, 30) == 0
        clock(7 * DAY + 2)
        run_due(["finish_deletion"])
        fact.refresh_from_db()
        assert fact.source_conversation is None

    def test_open_temporary_conversations_are_not_pruned(self, add_exchange, run_night):
        Conversation.objects.filter(pk=add_exchange("Hello").pk).update(temporary=True)
        assert run_night(31, 30) == 1

    def test_conversations_pending_deletion_are_not_pruned(self, owner, add_exchange, run_night):
        gone = deletions.delete_conversation(add_exchange("Hello"))
        assert run_night(31, 30) == 1
        assert Deletion.objects.get(pk=gone.pk).state == "pending"

    def test_other_owners_conversations_are_not_pruned(self, owner, other, add_exchange, run_night):
        Conversation.objects.filter(pk=add_exchange("Hello").pk).update(owner=other)
        assert run_night(31, 30) == 1


class TestSweeps:
    """Sweeps find work whose own job was lost."""

    def test_a_deletion_whose_job_was_lost_is_finished(self, clock, owner, make_fact):
        batch = deletions.forget_facts(owner, [make_fact("User likes tea").pk])
        Job.objects.all().delete()
        schedule.enqueue_all(clock(30))
        run_due(["sweep_deletions"])
        assert Deletion.objects.get(pk=batch.pk).state == "done"

    def test_facts_missing_from_the_graph_are_added(self, clock, make_fact):
        make_fact("User lives in Oslo", kind="home", category="identity")
        make_fact("User likes tea")
        schedule.enqueue_all(clock(0))
        run_due(["sweep_graph", "catch_up_graph"])
        assert Relationship.objects.count() == 2
        clock(1800)
        assert run_due(["sweep_graph", "catch_up_graph"]) == 2

    @pytest.fixture
    def nearly_full(self, add_exchange):
        conversation = add_exchange("Hello")
        reply = conversation.messages.get(seq=2)
        PromptReport.objects.create(reply=reply, prompt_tokens=1500, completion_tokens=100, window=2048)
        Job.objects.all().delete()
        return conversation

    def test_preparation_is_queued_for_a_conversation_near_its_window(self, clock, nearly_full):
        schedule.enqueue_all(clock(0))
        run_due(["sweep_summaries"])
        job = Job.objects.get(kind="prepare")
        assert job.payload == {"conversation": str(nearly_full.pk), "tokens": 1600, "window": 2048}

    def test_unprepared_conversations_are_found_with_two_queries(
        self, clock, nearly_full, django_assert_num_queries
    ):
        with django_assert_num_queries(2):
            assert prompts.find_unprepared(timezone.now()) == [(nearly_full.pk, 1600, 2048)]

    def test_queued_prepared_short_deleted_and_old_conversations_are_skipped(self, clock, nearly_full):
        def find_unprepared() -> list[Any]:
            return prompts.find_unprepared(timezone.now())

        prompts.queue_preparation(nearly_full.pk, 1600, 2048)
        assert find_unprepared() == []
        Job.objects.update(failed_at=timezone.now())
        assert len(find_unprepared()) == 1
        Conversation.objects.update(prepared={})
        assert find_unprepared() == []
        Conversation.objects.update(prepared=None)
        PromptReport.objects.update(prompt_tokens=1000)
        assert find_unprepared() == []
        PromptReport.objects.update(prompt_tokens=1500)
        deletions.delete_conversation(nearly_full)
        assert find_unprepared() == []
        Conversation.objects.update(deletion=None)
        clock(8 * DAY)
        assert find_unprepared() == []
