"""After the clock was set nothing waits for a date ahead, no date is changed unasked, and old chats stay."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from chat.actions import clock as clocks
from chat.actions import clock_repair, conversations, deletions, old_conversations
from chat.actions import decay as decay_module
from chat.actions.facts import add_fact
from chat.actions.owners import settings_of
from chat.actions.recovery import recover_at_start
from chat.jobs import periodic as watching
from chat.jobs import schedule
from chat.jobs.runner import run_due
from chat.models import (
    Conversation,
    Deletion,
    Fact,
    Job,
    Message,
    OwnerSettings,
    Tombstone,
)

pytestmark = pytest.mark.django_db
AHEAD = 400 * 86400
YEARS = 6 * 365 * 86400


@pytest.fixture(params=["at the next start", "while the process runs"])
def set_clock_back(request, clock):
    """Return a function that sets the clock back and lets the process detect it."""

    def go_back(seconds: float = AHEAD) -> None:
        clock(-seconds)
        if request.param == "at the next start":
            recover_at_start(timezone.now())
            return
        watching.check_clock(watching._ahead() + seconds)

    clock(AHEAD)
    return go_back


def read_dates():
    """Return all dates of what happened, by model and column."""
    return {
        (model, field): list(model.objects.order_by("pk").values_list("pk", field))
        for model, field in clock_repair._iterate_dates()
    }


def test_no_date_of_what_happened_is_changed_unasked(owner, add_exchange, set_clock_back, make_fact):
    add_exchange("I like chess.")
    deletions.forget_facts(owner, [make_fact("User likes tea").pk])
    before = read_dates()
    set_clock_back()
    assert read_dates() == before


def test_a_start_in_the_past_changes_no_date_and_deletes_nothing(owner, add_exchange, clock, make_fact):
    recover_at_start(clock(0))
    add_exchange("I like chess.")
    OwnerSettings.objects.filter(owner=owner).update(prune_after=30)
    make_fact("User likes tea", archived_at=clock(0))
    before = read_dates()
    for step in (-YEARS, YEARS):
        recover_at_start(clock(step))
        schedule.run_nightly(timezone.now())
    assert read_dates() == before


def test_what_is_old_is_deleted_a_day_after_the_clock_was_set(owner, add_exchange, clock):
    recover_at_start(clock(0))
    add_exchange("I like chess.")
    OwnerSettings.objects.update_or_create(owner=owner, defaults={"prune_after": 30})
    recover_at_start(clock(40 * 86400))
    schedule.run_nightly(timezone.now())
    assert Conversation.objects.listed().exists()
    schedule.run_nightly(clock(86400))
    assert not Conversation.objects.listed().exists()


def test_a_leap_ahead_in_a_running_process_stops_deletion_for_a_day(owner, clock):
    recover_at_start(clock(0))
    assert clocks.is_clock_steady(timezone.now())
    ahead = watching._ahead()
    clock(20 * 86400)
    watching.check_clock(ahead)
    assert not clocks.is_clock_steady(timezone.now())
    assert clocks.is_clock_steady(clock(86400))


def test_one_message_dated_years_ahead_stops_deletion_for_a_day_only(add_exchange, clock):
    add_exchange("I like chess.")
    Message.objects.update(created_at=clock(0) + timedelta(days=2000))
    assert not clocks.is_clock_steady(timezone.now())
    assert clocks.is_clock_steady(clock(86400))


def test_a_week_without_the_program_keeps_the_clock_steady(clock):
    recover_at_start(clock(0))
    recover_at_start(clock(7 * 86400))
    assert clocks.is_clock_steady(timezone.now())


def test_pruning_by_hand_is_refused_after_the_clock_was_set(add_exchange, clock, capsys):
    recover_at_start(clock(0))
    add_exchange("I like chess.")
    recover_at_start(clock(YEARS))
    with pytest.raises(CommandError, match="less than a day ago"):
        call_command("prune", "--days", "30")
    assert Conversation.objects.exists()


def test_what_was_forgotten_after_a_message_dated_ahead_is_not_learned_from_it(
    owner, add_exchange, set_clock_back, clock, scripted
):
    add_exchange("I like chess.")
    set_clock_back()
    gone = deletions.forget_facts(owner, [add_fact(owner, "I like chess").pk])
    assert deletions.finish_deletion(gone.pk, clock(20))
    scripted.default_completion = "likes: User likes chess"
    run_due(["extract"])
    assert not Fact.objects.exists()


def test_a_second_start_does_not_end_a_deletion_early(owner, set_clock_back, clock, make_fact):
    gone = deletions.forget_facts(owner, [make_fact("User likes tea").pk], deletions.PROGRAM_UNDO_WINDOW)
    set_clock_back()
    recover_at_start(clock(60))
    recover_at_start(clock(60))
    gone.refresh_from_db()
    assert gone.state == "pending"
    assert deletions.undo_deletion(gone).returned


def test_a_leap_ahead_does_not_end_the_week_of_chats_deleted_by_age(owner, add_exchange, clock):
    recover_at_start(clock(0))
    add_exchange("I like chess.")
    assert old_conversations.delete_old_conversations(owner, clock(60), clock(0)) == 1
    recover_at_start(clock(YEARS))
    assert Conversation.objects.exists()
    assert old_conversations.keep_old_conversations(owner) == 1


class TestMovingDatesBack:
    """`doctor --clock` shows dates ahead, and moves them back on request."""

    def test_the_dates_keep_their_order_and_none_lies_ahead(
        self, owner, add_exchange, set_clock_back, clock, make_fact
    ):
        chat = add_exchange("I like chess.")
        clock(60)
        conversations.end_conversation(chat)
        add_exchange("I like go.")
        set_clock_back()
        order = list(Message.objects.order_by("created_at", "pk").values_list("pk", flat=True))
        assert clock_repair.move_dates_back(timezone.now()) > 0
        assert list(Message.objects.order_by("created_at", "pk").values_list("pk", flat=True)) == order
        first, last = (Message.objects.order_by(f"{way}created_at").first() for way in ("", "-"))
        assert last.created_at - first.created_at == timedelta(seconds=60)
        assert clock_repair.find_dates_ahead(timezone.now()) == {}

    def test_a_pending_deletion_is_finished_afterwards(self, owner, clock, make_fact):
        clock(AHEAD)
        deletions.forget_facts(owner, [make_fact("User likes tea").pk])
        clock(-AHEAD)
        clock_repair.move_dates_back(timezone.now())
        clock(60)
        run_due(["finish_deletion"])
        assert not Fact.objects.exists()

    def test_the_command_tells_what_lies_ahead_and_changes_nothing(
        self, add_exchange, set_clock_back, capsys
    ):
        add_exchange("I like chess.")
        set_clock_back()
        before = read_dates()
        call_command("doctor", "--clock")
        assert "messages: 2 ahead, the latest 2027-04-05" in capsys.readouterr().out
        assert read_dates() == before

    def test_the_command_writes_a_backup_first(self, add_exchange, set_clock_back, monkeypatch, capsys):
        written = []
        monkeypatch.setattr(
            "chat.management.commands.doctor.back_up",
            lambda target: written.append((target, clock_repair.find_dates_ahead(timezone.now()))),
        )
        add_exchange("I like chess.")
        set_clock_back()
        call_command("doctor", "--clock", "--move-back")
        [(target, ahead)] = written
        assert ahead
        assert str(target) in capsys.readouterr().out
        assert not clock_repair.find_dates_ahead(timezone.now())

    def test_without_dates_ahead_it_says_so(self, clock, add_exchange, capsys):
        add_exchange("I like chess.")
        call_command("doctor", "--clock", "--move-back")
        assert "No date lies ahead" in capsys.readouterr().out

    def test_messages_after_it_teach_again_what_was_forgotten(
        self, owner, add_exchange, set_clock_back, clock, scripted
    ):
        add_exchange("I like chess.")
        clock(2)
        gone = deletions.forget_facts(owner, [add_fact(owner, "I like chess").pk])
        assert deletions.finish_deletion(gone.pk, clock(20))
        earlier = Message.objects.filter(role="user").latest("seq")
        set_clock_back()
        clock_repair.move_dates_back(timezone.now())
        clock(120)
        add_exchange("I like chess again.")
        later = Message.objects.filter(role="user").latest("created_at")
        earlier.refresh_from_db()
        stone = Tombstone.objects.first()
        assert earlier.created_at < stone.pressed_at < later.created_at


def test_a_pending_deletion_is_finished(owner, set_clock_back, clock):
    fact = add_fact(owner, "I love hiking")
    deletions.forget_facts(owner, [fact.pk])
    set_clock_back()
    clock(deletions.CLEAR_UNDO_WINDOW.total_seconds() + 2)
    run_due(["finish_deletion"])
    assert not Fact.objects.exists()
    assert not Job.objects.filter(kind="finish_deletion").exists()


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


def test_a_job_delayed_by_hours_runs(add_exchange, set_clock_back, clock, scripted):
    hours = 3 * 3600
    clock(hours - AHEAD)
    add_exchange("I like chess.")
    set_clock_back(hours)
    scripted.completions.append("likes: User likes chess")
    clock(2)
    run_due(["extract"])
    assert Fact.objects.get().text == "User likes chess"


def test_a_correct_clock_changes_nothing(clock, owner, add_exchange, make_fact):
    add_exchange("I like chess.")
    schedule.enqueue_all(clock(0))
    deletions.forget_facts(owner, [make_fact("User likes tea").pk])
    before = [list(model.objects.order_by("pk").values()) for model in (Job, Message, Deletion, Fact)]
    assert clocks.pull_in_deadlines(timezone.now()) == 0
    assert [list(model.objects.order_by("pk").values()) for model in (Job, Message, Deletion, Fact)] == before


def test_small_clock_steps_change_nothing(add_exchange, clock):
    add_exchange("I like chess.")
    due = Job.objects.get(kind="end_idle").run_after
    ahead = time.time() - time.monotonic()
    for step in (30.0, -3600.0):
        watching.check_clock(ahead + step)
    assert Job.objects.get(kind="end_idle").run_after == due
