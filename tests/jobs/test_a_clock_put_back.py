"""A clock that ran ahead and was put back freezes nothing of what was written meanwhile."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import models
from django.utils import timezone

from chat.actions import archive, conversations, deletions, fading, jobs
from chat.actions import clock as clocks
from chat.actions.facts import add_fact
from chat.actions.owners import settings_of
from chat.jobs import clock as watching
from chat.jobs import schedule
from chat.jobs.recovery import recover
from chat.jobs.runner import run_due
from chat.models import Conversation, Deletion, Fact, FactEvent, Job, Message, Tombstone, Topic
from chat.topics import decay

pytestmark = pytest.mark.django_db
AHEAD = 400 * 86400


@pytest.fixture(params=["at the next start", "while the process runs"])
def put_back(request, clock):
    """Returns what puts the clock back, and lets the process find out."""

    def go_back(seconds: float = AHEAD) -> None:
        clock(-seconds)
        if request.param == "at the next start":
            recover(timezone.now())
            return
        watching.look(watching._ahead() + seconds)

    clock(AHEAD)
    return go_back


def test_a_deletion_becomes_final(owner, put_back, clock):
    fact = add_fact(owner, "I love hiking")
    deletions.forget(owner, [fact.pk])
    put_back()
    clock(deletions.CLEAR_WINDOW.total_seconds() + 2)
    run_due(["finish_deletion"])
    assert not Fact.objects.exists()
    assert not Job.objects.filter(kind="finish_deletion").exists()


def test_what_was_said_before_a_clear_all_stays_unread_and_what_comes_after_is_read(
    owner, say, put_back, scripted, clock, make_fact
):
    make_fact("User likes go")
    chat = say("I like chess.")
    clock(2)
    gone = deletions.clear_all(owner)
    put_back()
    clock(20)
    assert deletions.finish(gone.pk, timezone.now())
    scripted.default_completion = "likes: User likes tea"
    say("I like tea.", chat)
    clock(5)
    run_due(["extract"])
    assert [fact.text for fact in Fact.objects.all()] == ["User likes tea"]


def test_what_was_forgotten_can_be_learned_from_what_is_said_later(owner, say, put_back, clock):
    say("I like chess.")
    clock(2)
    gone = deletions.forget(owner, [add_fact(owner, "I like chess").pk])
    assert deletions.finish(gone.pk, clock(20))
    earlier = Message.objects.filter(role="user").latest("seq")
    put_back()
    clock(120)
    say("I like chess again.")
    later = Message.objects.filter(role="user").latest("created_at")
    earlier.refresh_from_db()
    stone = Tombstone.objects.first()
    assert earlier.created_at < stone.pressed_at < later.created_at


def test_a_chat_ends_when_nobody_writes(say, put_back, clock, scripted):
    say("Hello")
    put_back()
    clock(620)
    run_due(["end_idle"])
    assert Conversation.objects.get().ended_at is not None


def test_fading_counts_on_from_today(owner, put_back, clock, make_fact):
    make_fact("User likes tea")
    fading.fade(owner, timezone.now().date())
    put_back()
    today = timezone.now().date()
    fading.fade(owner, today)
    assert settings_of(owner.pk).faded_through == today - timedelta(days=1)
    clock(86400)
    fading.fade(owner, today + timedelta(days=1))
    assert settings_of(owner.pk).faded_through == today


def test_a_fact_that_was_used_then_is_idle_from_now_on(owner, put_back, clock, make_fact):
    fact = make_fact("User likes tea")
    put_back()
    fact.refresh_from_db()
    now = timezone.now()
    assert max(fact.first_seen, fact.last_seen, fact.last_used) <= now


def test_what_was_archived_then_goes_thirty_days_later(owner, put_back, clock, make_fact):
    make_fact("User likes tea", archived_at=timezone.now())
    put_back()
    assert archive.purge(owner, clock(29 * 86400)) == 0
    assert archive.purge(owner, clock(2 * 86400)) == 1


def test_a_topic_that_was_active_then_is_forgotten_as_others_are(say, put_back, clock):
    topic = Topic.objects.create(conversation=say("Hello"), title="Boats")
    put_back()
    topic.refresh_from_db()
    age = clock(86400) - topic.last_active_at
    assert decay.priority(1.0, 0, age) == pytest.approx(0.5, abs=0.01)


def test_what_was_put_off_by_hours_runs(say, put_back, clock, scripted):
    hours = 3 * 3600
    clock(hours - AHEAD)
    say("I like chess.")
    put_back(hours)
    scripted.completions.append("likes: User likes chess")
    clock(2)
    run_due(["extract"])
    assert Fact.objects.get().text == "User likes chess"


def test_no_moment_of_any_table_is_left_ahead_but_for_what_is_to_come_and_the_order_of_history(
    owner, say, put_back, clock, make_fact
):
    chat = say("I like chess.")
    make_fact("User likes tea")
    conversations.end(chat)
    add_fact(owner, "I like go")
    put_back()
    late = timezone.now() + clocks.AHEAD
    for model in apps.get_app_config("chat").get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, models.DateTimeField) and model not in (Job, FactEvent):
                assert not model.objects.filter(**{f"{field.name}__gt": late}).exists(), field


def test_a_clock_that_is_right_changes_nothing(clock, owner, say, make_fact):
    say("I like chess.")
    schedule.plan(clock(0))
    deletions.forget(owner, [make_fact("User likes tea").pk])
    before = [list(model.objects.order_by("pk").values()) for model in (Job, Message, Deletion, Fact)]
    assert clocks.mend(timezone.now()) == 0
    assert [list(model.objects.order_by("pk").values()) for model in (Job, Message, Deletion, Fact)] == before


def test_a_clock_that_goes_on_or_is_set_right_by_seconds_is_left_alone(say, clock):
    say("I like chess.")
    due = Job.objects.get(kind="end_idle").run_after
    ahead = time.time() - time.monotonic()
    for step in (30.0, -3600.0):
        watching.look(ahead + step)
    assert Job.objects.get(kind="end_idle").run_after == due


class TestRunAgainInTheAdminSite:
    """A deletion that can be undone still is neither finished early nor lost."""

    def test_its_job_waits_on_for_its_time(self, owner, clock, make_fact):
        clock(0)
        gone = deletions.forget(owner, [make_fact("User likes tea").pk])
        job = Job.objects.get(kind="finish_deletion")
        jobs.run_again([job.pk], timezone.now())
        run_due(["finish_deletion"])
        assert Deletion.objects.get().state == "pending"
        job.refresh_from_db()
        assert job.run_after == gone.expires_at + deletions.GRACE
        deletions.undo(gone)
        assert Fact.objects.live().count() == 1

    def test_it_is_done_then(self, owner, clock, make_fact):
        clock(0)
        deletions.forget(owner, [make_fact("User likes tea").pk])
        jobs.run_again(Job.objects.values_list("pk", flat=True), timezone.now())
        run_due(["finish_deletion"])
        clock(5.5)
        run_due(["finish_deletion"])
        assert not Fact.objects.exists()
        assert not Job.objects.filter(kind="finish_deletion").exists()

    def test_one_that_was_undone_has_nothing_left_to_do(self, owner, clock, make_fact):
        clock(0)
        deletions.undo(deletions.forget(owner, [make_fact("User likes tea").pk]))
        clock(10)
        run_due(["finish_deletion"])
        assert not Job.objects.filter(kind="finish_deletion").exists()
        assert Fact.objects.live().count() == 1
