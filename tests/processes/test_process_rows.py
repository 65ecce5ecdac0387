"""What the row of a process means: who is dead, what was theirs, and what is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from chat.actions import jobs, processes, recovery
from chat.actions.importing import staging
from chat.actions.messages import finish_reply, save_checkpoint
from chat.jobs import heartbeat, schedule
from chat.jobs.runner import job_threads
from chat.management.commands.serve import require_jobs_somewhere
from chat.management.health.findings import FindingState
from chat.management.health.processes import check_processes
from chat.models import Deletion, DeletionState, Job, Message, Process, ProcessKind

pytestmark = pytest.mark.django_db


@pytest.fixture
def shared(monkeypatch):
    """The database counts as one that other processes use, as with PostgreSQL."""
    monkeypatch.setattr(processes, "is_database_shared", lambda: True)
    # As in a process that has reached the database for long.
    monkeypatch.setattr(processes, "_can_judge_silence", lambda: True)


@pytest.fixture
def me():
    """The key of this process, which has a row."""
    yield processes.enter(ProcessKind.SERVE, runs_jobs=True)
    processes.leave()


def add_process(**fields):
    now = timezone.now()
    here = Process.objects.earliest("started_at")
    defaults = {"kind": "serve", "host": here.host, "boot": here.boot, "pid": os.getpid()}
    defaults |= {"pid_started": here.pid_started, "started_at": now, "seen_at": now}
    return Process.objects.create(**defaults | fields)


def hold(talk, process):
    """A running reply, a leased job and an unfinished import that belong to a process."""
    _asked, reply = talk("I live in Oslo.")
    Message.objects.filter(pk=reply.pk).update(process=process, content="So far")
    Job.objects.all().delete()
    jobs.enqueue("title", {}, key=str(uuid4()))
    Job.objects.update(process=process, lease_until=timezone.now() + jobs.LEASE, attempts=1)
    staged = Deletion.objects.create(
        owner=reply.conversation.owner,
        expires_at=timezone.now() + timedelta(minutes=1),
        state=DeletionState.STAGED,
        process=process,
    )
    return reply, staged


def read_held(reply, staged):
    reply.refresh_from_db()
    return reply.state, Job.objects.get().lease_until is None, Deletion.objects.filter(pk=staged.pk).exists()


def test_what_a_silent_process_held_is_recovered_and_its_row_removed(shared, me, talk):
    silent = add_process(seen_at=timezone.now() - timedelta(seconds=31))
    held = hold(talk, silent.pk)
    recovery.recover_dead()
    assert read_held(*held) == ("stopped", True, False)
    assert (held[0].content, held[0].failure) == ("So far", "stopped-by-shutdown")
    assert list(Process.objects.values_list("pk", flat=True)) == [me]


def test_after_an_outage_of_the_database_nobody_is_taken_for_dead_until_all_could_be_heard_of(
    me, talk, monkeypatch
):
    monkeypatch.setattr(processes, "is_database_shared", lambda: True)
    now = 1000.0
    monkeypatch.setattr(processes.time, "monotonic", lambda: now)
    processes.renew([])
    for _ in range(8):
        now += 5
        processes.renew([])
    now += 40
    silent = add_process(seen_at=timezone.now() - timedelta(seconds=40))
    processes.renew([])
    assert processes.remove_dead() == []
    for _ in range(6):
        now += 5
        processes.renew([])
    assert processes.remove_dead() == [silent]


def test_what_a_living_process_holds_is_left_alone_also_by_a_start(shared, me, talk):
    held = hold(talk, add_process(seen_at=timezone.now() - timedelta(seconds=20)).pk)
    recovery.recover_dead()
    assert recovery.recover_at_start(timezone.now()) is False
    assert read_held(*held) == ("streaming", False, True)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell their boots apart")
def test_a_process_of_this_machine_that_ended_is_noticed_at_once(shared, me, talk):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    held = hold(talk, add_process(pid=ended.pid).pk)
    recovery.recover_dead()
    assert read_held(*held) == ("stopped", True, False)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell their boots apart")
def test_another_process_with_the_number_of_one_that_ended_is_not_taken_for_it(shared, me):
    add_process(pid_started="1")
    recovery.recover_dead()
    assert list(Process.objects.values_list("pk", flat=True)) == [me]


def test_a_process_of_another_machine_is_never_judged_by_its_number(shared, me):
    add_process(host="elsewhere", pid=2**22)
    recovery.recover_dead()
    assert Process.objects.count() == 2


def test_rows_of_a_former_version_are_recovered_at_a_start_where_nobody_else_lives(shared, me, talk):
    held = hold(talk, None)
    recovery.recover_dead()
    assert read_held(*held) == ("streaming", False, True)
    other = add_process()
    recovery.recover_at_start(timezone.now())
    assert read_held(*held) == ("streaming", False, True)
    other.delete()
    assert recovery.recover_at_start(timezone.now()) is True
    assert read_held(*held)[:2] == ("stopped", True)


def test_with_sqlite_a_start_knows_at_once_that_the_former_process_is_dead(me, talk):
    held = hold(talk, add_process().pk)
    assert recovery.recover_at_start(timezone.now()) is True
    assert read_held(*held) == ("stopped", True, False)


def test_a_process_that_was_taken_for_dead_gets_a_row_again(shared, me):
    Process.objects.all().delete()
    processes.renew(["a-conversation"])
    row = Process.objects.get()
    assert (row.pk, row.open_conversations) == (me, ["a-conversation"])


def test_what_another_process_has_ended_is_not_written_again(shared, me, talk):
    _asked, reply = talk("I live in Oslo.")
    assert save_checkpoint(reply.pk, "So far")
    Message.objects.filter(pk=reply.pk).update(process=uuid4())
    recovery.recover_dead()
    assert not save_checkpoint(reply.pk, "More")
    finish_reply(reply, "All of it", "complete")
    reply.refresh_from_db()
    assert (reply.state, reply.content) == ("stopped", "So far")


def test_a_reply_belongs_to_the_process_that_writes_it(me, talk):
    asked, reply = talk("I live in Oslo.")
    assert (asked.process, reply.process) == (None, me)


def test_a_job_and_an_import_belong_to_the_process_that_took_them(me, owner):
    jobs.enqueue("title", {})
    job = jobs.claim({"title"}, timezone.now())
    with staging.open_staging_batch(owner) as batch:
        assert (job.process, batch.process) == (me, me)


def test_deleted_texts_leave_the_caches_of_every_process(shared, me, monkeypatch):
    other = add_process()
    freed: list[list[str]] = []
    monkeypatch.setattr(heartbeat, "free_own_caches", freed.append)
    processes.let_others_free_caches(["one", "two"])
    other.refresh_from_db()
    assert other.caches_to_free == ["one", "two"]
    Process.objects.filter(pk=me).update(caches_to_free=["one"])
    heartbeat.follow_others()
    heartbeat.follow_others()
    assert freed == [["one"]]


def test_a_process_that_was_taken_for_dead_frees_all_its_caches(shared, me, scripted):
    heartbeat.announce_pages()
    heartbeat.follow_others()
    assert scripted.forgotten == []
    Process.objects.all().delete()
    processes.let_others_free_caches(["deleted meanwhile"])
    heartbeat.announce_pages()
    heartbeat.follow_others()
    heartbeat.follow_others()
    assert scripted.forgotten == ["*"]


def test_a_chat_is_open_elsewhere_only_while_its_process_says_so(shared, me):
    other = add_process(open_conversations=["mine"])
    assert processes.is_open_elsewhere("mine")
    assert not processes.is_open_elsewhere("another")
    other.delete()
    assert not processes.is_open_elsewhere("mine")


def test_with_sqlite_background_work_cannot_be_left_to_others(settings):
    require_jobs_somewhere()
    settings.JOBS = "off"
    with pytest.raises(CommandError, match="PostgreSQL only"):
        require_jobs_somewhere()


def test_a_worker_needs_a_thread():
    with pytest.raises(CommandError, match="at least 1"):
        call_command("run_jobs", "--workers", "0")


def test_each_worker_has_threads_of_its_own_and_deadlines_need_one():
    names = [(lane.name, lane.number) for lane in job_threads(2)]
    assert len(set(names)) == len(names) == 7
    assert [name for name, _number in names].count("quick") == 1


def test_the_doctor_lists_living_processes_and_notes_that_no_worker_runs(shared, me):
    Process.objects.update(runs_jobs=False)
    add_process(kind="run_jobs", runs_jobs=True, seen_at=timezone.now() - timedelta(seconds=31))
    key, found = check_processes()
    assert (key.state, found.state) == (FindingState.OK, FindingState.NOTE)
    assert "No worker runs" in found.text
    add_process(kind="run_jobs", runs_jobs=True)
    assert list(check_processes())[1].state is FindingState.OK


def test_the_doctor_asks_redis_where_it_is_used(db, settings, redis):
    settings.REDIS_URL = redis.url
    assert ("redis", FindingState.OK) in [(one.topic, one.state) for one in check_processes()]
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    found = next(one for one in check_processes() if one.topic == "redis")
    assert (found.state, found.text) == (FindingState.BROKEN, "Redis does not answer: ConnectionError.")


@pytest.mark.parametrize("enqueue", [schedule.enqueue_all, schedule.enqueue_missing])
def test_processes_that_start_at_once_enqueue_periodic_work_in_one_order(db, enqueue, monkeypatch):
    kinds: list[str] = []
    monkeypatch.setattr(schedule.jobs, "enqueue", lambda kind, *_args, **_more: kinds.append(kind))
    enqueue(timezone.now())
    assert kinds == sorted(schedule.PERIODIC)
    assert len(kinds) > 2
