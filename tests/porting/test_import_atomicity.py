"""An import is applied completely or not at all; readers never see a partial import."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone

from chat.actions import deletions, importing
from chat.actions.importing import chats, fact_writer, run, staging
from chat.actions.recovery import recover_at_start
from chat.errors import Refused, TooLateToUndo
from chat.jobs.maintenance import sweep_deletions
from chat.models import App, Conversation, Deletion, Fact, Message
from memoryapp.base.locking import try_lock

from .conftest import document, wipe
from .sample_data import create_sample_data

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """An exception that no handler in the import catches."""


@pytest.fixture
def path(owner, file, monkeypatch):
    """An export of three conversations, each written in its own step; the database has none of them."""
    create_sample_data(owner, messages=30, in_a_chat=10)
    path = file(document(owner))
    wipe(owner)
    monkeypatch.setattr(run, "_CONVERSATIONS", 1)
    return path


def test_a_staged_import_is_invisible_until_it_is_published(owner, path, monkeypatch):
    seen = []
    real = fact_writer.publish_batch

    def record_and_publish(batch):
        seen.append(
            (Conversation.objects.for_owner(owner).not_deleted().count(), Conversation.objects.count())
        )
        real(batch)

    monkeypatch.setattr(fact_writer, "publish_batch", record_and_publish)
    importing.import_file(owner, path)
    assert seen == [(0, 3)]
    assert Conversation.objects.for_owner(owner).listed().count() == 3
    assert not Deletion.objects.filter(state="staged").exists()


@pytest.mark.parametrize("times", [1, 2, 3])
def test_an_import_killed_between_two_steps_leaves_nothing(owner, path, times, monkeypatch):
    before = document(owner)
    with monkeypatch.context() as patch:
        real, count = chats.keep_batch_alive, iter(range(1, 99))
        patch.setattr(staging, "_remove", lambda batch: None)

        def keep_alive_or_die(batch):
            real(batch)
            if next(count) == times:
                raise Killed

        patch.setattr(chats, "keep_batch_alive", keep_alive_or_die)
        with pytest.raises(Killed):
            importing.import_file(owner, path)
    assert document(owner) == before
    assert Conversation.objects.count() == times - 1
    assert importing.remove_abandoned_imports() == 0
    assert importing.dry_run(owner, path).conversations.added == 3
    Deletion.objects.filter(state="staged").update(expires_at=timezone.now() - timedelta(seconds=1))
    sweep_deletions({})
    assert not Conversation.objects.exists()
    assert not Deletion.objects.filter(state="staged").exists()


def test_the_server_start_removes_rows_of_a_killed_import(owner, path):
    now = timezone.now()
    batch = Deletion.objects.create(
        owner=owner, pressed_at=now, expires_at=now - timedelta(minutes=1), state="staged"
    )
    Conversation.objects.create(owner=owner, app=App.objects.get(owner=owner), deletion=batch)
    recover_at_start(now)
    assert not Conversation.objects.exists()


def test_the_next_import_removes_rows_of_a_killed_import(owner, path):
    now = timezone.now()
    Deletion.objects.create(owner=owner, expires_at=now - timedelta(minutes=1), state="staged")
    assert importing.import_file(owner, path).conversations.added == 3
    assert not Deletion.objects.filter(state="staged").exists()


@pytest.fixture
def staged(owner):
    """A batch that has not expired, and the path of the lock of its import."""
    batch = Deletion.objects.create(
        owner=owner, expires_at=timezone.now() + timedelta(minutes=1), state="staged"
    )
    Conversation.objects.create(owner=owner, app=App.objects.get(owner=owner), deletion=batch)
    path = Path(settings.DATA_DIR) / "locks" / f"importing-{batch.pk}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_the_next_import_need_not_wait_for_the_rows_of_a_killed_one_to_expire(owner, path, staged):
    staged.touch()
    assert importing.import_file(owner, path).conversations.added == 3
    assert not Deletion.objects.filter(state="staged").exists()
    assert not staged.exists()


def test_the_server_start_removes_rows_of_an_import_that_was_killed_just_now(owner, staged):
    staged.touch()
    recover_at_start(timezone.now())
    assert not Conversation.objects.exists()
    assert not staged.exists()


def test_a_start_leaves_an_import_alone_that_another_process_runs(owner, path, staged):
    with try_lock(staged):
        recover_at_start(timezone.now())
        with pytest.raises(Refused, match="Another import is at work"):
            importing.import_file(owner, path)
    assert Conversation.objects.count() == 1


def test_a_start_leaves_an_import_alone_that_has_another_data_folder(owner, staged):
    recover_at_start(timezone.now())
    assert Conversation.objects.count() == 1


def test_a_lock_without_rows_is_removed_once_nobody_holds_it(staged):
    Deletion.objects.all().delete()
    with try_lock(staged):
        importing.remove_abandoned_imports()
        assert staged.exists()
    importing.remove_abandoned_imports()
    assert not staged.exists()


def test_the_next_import_removes_what_a_failed_one_could_not(owner, path, monkeypatch):
    def fail(*_args):
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as full:
        full.setattr(run.AppMemoryPlan, "write", fail)
        full.setattr(staging, "_remove", fail)
        with pytest.raises(RuntimeError):
            importing.import_file(owner, path)
    assert Deletion.objects.filter(state="staged").exists()
    assert importing.import_file(owner, path).conversations.added == 3
    assert Conversation.objects.count() == 3


def test_an_import_leaves_no_lock(owner, path):
    importing.import_file(owner, path)
    assert not list(Path(settings.DATA_DIR).glob("locks/importing-*"))


def test_an_import_that_fails_in_the_last_step_is_removed(owner, path, monkeypatch):
    before = document(owner)

    def fail(*_args):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(run.AppMemoryPlan, "write", fail)
    with pytest.raises(RuntimeError):
        importing.import_file(owner, path)
    assert document(owner) == before
    assert not Conversation.objects.exists()
    assert not Message.objects.exists()
    assert not Fact.objects.exists()


def test_a_second_concurrent_import_is_refused(owner, path):
    Deletion.objects.create(owner=owner, expires_at=timezone.now() + timedelta(minutes=1), state="staged")
    with pytest.raises(Refused, match="Another import is at work"):
        importing.import_file(owner, path)
    assert not Conversation.objects.exists()


def test_another_owners_import_does_not_block(owner, other, path):
    Deletion.objects.create(owner=other, expires_at=timezone.now() + timedelta(minutes=1), state="staged")
    assert importing.import_file(owner, path).conversations.added == 3


def test_an_import_during_account_erasure_is_refused(owner, path, monkeypatch):
    real = run.keep_batch_alive

    def erase(batch):
        deletion = deletions.erase_account(owner)
        deletions.finish_deletion(deletion.pk, timezone.now() + timedelta(minutes=1))
        real(batch)

    monkeypatch.setattr(run, "keep_batch_alive", erase)
    with pytest.raises(Refused, match="Everything was deleted"):
        importing.import_file(owner, path)
    assert not Conversation.objects.exists()


def test_an_import_that_paused_too_long_is_refused_and_stays_invisible(owner, path, monkeypatch):
    real = staging.erasure.purge_conversation_rows
    seen = []

    def purge_and_resume(conversation):
        seen.append(Conversation.objects.for_owner(owner).listed().count())
        real(conversation)
        if len(seen) == 1:
            # Two of the three conversations are not removed yet when the import continues.
            with pytest.raises(Refused, match="the import stalled"):
                staging.keep_batch_alive(Deletion.objects.get(state="staged"))

    def expire_and_resume(batch):
        Deletion.objects.filter(pk=batch.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
        with monkeypatch.context() as patch:
            patch.setattr(staging.erasure, "purge_conversation_rows", purge_and_resume)
            assert importing.remove_abandoned_imports() == 1
        staging.keep_batch_alive(batch)

    monkeypatch.setattr(run, "keep_batch_alive", expire_and_resume)
    with pytest.raises(Refused):
        importing.import_file(owner, path)
    assert seen == [0, 0, 0]
    assert not Conversation.objects.exists()


def test_an_import_without_changes_keeps_its_batch_alive(owner, path, monkeypatch):
    importing.import_file(owner, path)
    monkeypatch.setattr(staging, "_RENEW_SECONDS", 0)
    renewals = []
    monkeypatch.setattr(staging, "keep_batch_alive", lambda batch: renewals.append(batch))
    importing.import_file(owner, path)
    assert len(renewals) == 3


def test_a_staged_batch_cannot_be_undone(owner, path):
    batch = Deletion.objects.create(
        owner=owner, expires_at=timezone.now() + timedelta(minutes=1), state="staged"
    )
    with pytest.raises(TooLateToUndo):
        deletions.undo_deletion(batch)
    assert not deletions.finish_deletion(batch.pk, timezone.now() + timedelta(hours=1))
