"""Rows with future timestamps, written while the clock ran ahead, are repaired once it is set back."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import models
from django.utils import timezone

from chat.actions import archive, conversations, deletions, jobs
from chat.actions import clock_repair as clocks
from chat.actions import decay as decay_module
from chat.actions.facts import add_fact
from chat.actions.owners import settings_of
from chat.jobs import periodic as watching
from chat.jobs import schedule
from chat.jobs.runner import run_due
from chat.jobs.schedule import recover
from chat.models import Conversation, Deletion, Fact, FactEvent, Job, Message, Tombstone, Topic
from chat.topics import decay

pytestmark = pytest.mark.django_db
AHEAD = 400 * 86400


@pytest.fixture(params=["at the next start", "while the process runs"])
def set_clock_back(request, clock):
    """Return a function that sets the clock back and lets the process detect it."""

    def go_back(seconds: float = AHEAD) -> None:
        clock(-seconds)
        if request.param == "at the next start":
            recover(timezone.now())
            return
        watching.check_clock(watching._ahead() + seconds)

    clock(AHEAD)
    return go_back


def test_a_pending_deletion_is_finished(owner, set_clock_back, clock):
    fact = add_fact(owner, "I love hiking")
    deletions.forget_facts(owner, [fact.pk])
    set_clock_back()
    clock(deletions.CLEAR_UNDO_WINDOW.total_seconds() + 2)
    run_due(["finish_deletion"])
    assert not Fact.objects.exists()
    assert not Job.objects.filter(kind="finish_deletion").exists()


def test_only_messages_after_a_clear_all_are_extracted(
    owner, add_exchange, set_clock_back, scripted, clock, make_fact
):
    make_fact("User likes go")
    chat = add_exchange("I like chess.")
    clock(2)
    gone = deletions.clear_memory(owner)
    set_clock_back()
    clock(20)
    assert deletions.finish_deletion(gone.pk, timezone.now())
    scripted.default_completion = "likes: User likes tea"
    add_exchange("I like tea.", chat)
    clock(5)
    run_due(["extract"])
    assert [fact.text for fact in Fact.objects.all()] == ["User likes tea"]


def test_tombstones_stay_between_earlier_and_later_messages(owner, add_exchange, set_clock_back, clock):
    add_exchange("I like chess.")
    clock(2)
    gone = deletions.forget_facts(owner, [add_fact(owner, "I like chess").pk])
    assert deletions.finish_deletion(gone.pk, clock(20))
    earlier = Message.objects.filter(role="user").latest("seq")
    set_clock_back()
    clock(120)
    add_exchange("I like chess again.")
    later = Message.objects.filter(role="user").latest("created_at")
    earlier.refresh_from_db()
    stone = Tombstone.objects.first()
    assert earlier.created_at < stone.pressed_at < later.created_at


def test_an_idle_conversation_ends(add_exchange, set_clock_back, clock, scripted):
    add_exchange("Hello")
    set_clock_back()
    clock(620)
    run_due(["end_idle"])
    assert Conversation.objects.get().ended_at is not None


def test_decay_continues_from_the_current_day(owner, set_clock_back, clock, make_fact):
    make_fact("User likes tea")
    decay_module.apply_decay(owner, timezone.now().date())
    set_clock_back()
    today = timezone.now().date()
    decay_module.apply_decay(owner, today)
    assert settings_of(owner.pk).faded_through == today - timedelta(days=1)
    clock(86400)
    decay_module.apply_decay(owner, today + timedelta(days=1))
    assert settings_of(owner.pk).faded_through == today


def test_fact_timestamps_are_not_in_the_future(owner, set_clock_back, clock, make_fact):
    fact = make_fact("User likes tea")
    set_clock_back()
    fact.refresh_from_db()
    now = timezone.now()
    assert max(fact.first_seen, fact.last_seen, fact.last_used) <= now


def test_an_archived_fact_is_deleted_after_thirty_days(owner, set_clock_back, clock, make_fact):
    make_fact("User likes tea", archived_at=timezone.now())
    set_clock_back()
    assert archive.purge_archive(owner, clock(29 * 86400)) == 0
    assert archive.purge_archive(owner, clock(2 * 86400)) == 1


def test_topic_priority_decays_from_the_repaired_time(add_exchange, set_clock_back, clock):
    topic = Topic.objects.create(conversation=add_exchange("Hello"), title="Boats")
    set_clock_back()
    topic.refresh_from_db()
    age = clock(86400) - topic.last_active_at
    assert decay.compute_priority(1.0, 0, age) == pytest.approx(0.5, abs=0.01)


def test_a_job_delayed_by_hours_runs(add_exchange, set_clock_back, clock, scripted):
    hours = 3 * 3600
    clock(hours - AHEAD)
    add_exchange("I like chess.")
    set_clock_back(hours)
    scripted.completions.append("likes: User likes chess")
    clock(2)
    run_due(["extract"])
    assert Fact.objects.get().text == "User likes chess"


def test_no_timestamp_except_of_jobs_and_events_is_in_the_future(
    owner, add_exchange, set_clock_back, clock, make_fact
):
    chat = add_exchange("I like chess.")
    make_fact("User likes tea")
    conversations.end_conversation(chat)
    add_fact(owner, "I like go")
    set_clock_back()
    late = timezone.now() + clocks.AHEAD
    for model in apps.get_app_config("chat").get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, models.DateTimeField) and model not in (Job, FactEvent):
                assert not model.objects.filter(**{f"{field.name}__gt": late}).exists(), field


def test_a_correct_clock_changes_nothing(clock, owner, add_exchange, make_fact):
    add_exchange("I like chess.")
    schedule.enqueue_all(clock(0))
    deletions.forget_facts(owner, [make_fact("User likes tea").pk])
    before = [list(model.objects.order_by("pk").values()) for model in (Job, Message, Deletion, Fact)]
    assert clocks.repair_timestamps(timezone.now()) == 0
    assert [list(model.objects.order_by("pk").values()) for model in (Job, Message, Deletion, Fact)] == before


def test_small_clock_steps_change_nothing(add_exchange, clock):
    add_exchange("I like chess.")
    due = Job.objects.get(kind="end_idle").run_after
    ahead = time.time() - time.monotonic()
    for step in (30.0, -3600.0):
        watching.check_clock(ahead + step)
    assert Job.objects.get(kind="end_idle").run_after == due


class TestRunningADeletionJobEarly:
    """A deletion job run from the admin site within the undo window is neither finished early nor lost."""

    def test_the_job_is_postponed_to_the_deadline(self, owner, clock, make_fact):
        clock(0)
        gone = deletions.forget_facts(owner, [make_fact("User likes tea").pk])
        job = Job.objects.get(kind="finish_deletion")
        jobs.run_again([job.pk], timezone.now())
        run_due(["finish_deletion"])
        assert Deletion.objects.get().state == "pending"
        job.refresh_from_db()
        assert job.run_after == gone.expires_at + deletions.UNDO_GRACE
        deletions.undo_deletion(gone)
        assert Fact.objects.live().count() == 1

    def test_the_job_finishes_the_deletion_after_the_deadline(self, owner, clock, make_fact):
        clock(0)
        deletions.forget_facts(owner, [make_fact("User likes tea").pk])
        jobs.run_again(Job.objects.values_list("pk", flat=True), timezone.now())
        run_due(["finish_deletion"])
        clock(5.5)
        run_due(["finish_deletion"])
        assert not Fact.objects.exists()
        assert not Job.objects.filter(kind="finish_deletion").exists()

    def test_the_job_of_an_undone_deletion_is_deleted(self, owner, clock, make_fact):
        clock(0)
        deletions.undo_deletion(deletions.forget_facts(owner, [make_fact("User likes tea").pk]))
        clock(10)
        run_due(["finish_deletion"])
        assert not Job.objects.filter(kind="finish_deletion").exists()
        assert Fact.objects.live().count() == 1
