"""An import is there whole or not at all, whatever happens on the way, and nobody sees it half done."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import deletions, importing
from chat.actions.importing import chats, run, staging, storing
from chat.actions.messages import Refused
from chat.jobs.handlers import sweep_deletions
from chat.jobs.recovery import recover
from chat.models import App, Conversation, Deletion, Fact, Message

from .conftest import document, wipe
from .worlds import build

pytestmark = pytest.mark.django_db


class Killed(BaseException):
    """What no handler catches."""


@pytest.fixture
def path(owner, file, monkeypatch):
    """A file of three chats, each of which is a portion of its own; nothing of it is here."""
    build(owner, messages=30, in_a_chat=10)
    path = file(document(owner))
    wipe(owner)
    monkeypatch.setattr(run, "_CONVERSATIONS", 1)
    return path


def test_meanwhile_nobody_sees_any_of_it(owner, path, monkeypatch):
    seen = []
    real = storing.show

    def look(batch):
        seen.append((Conversation.objects.for_owner(owner).kept().count(), Conversation.objects.count()))
        real(batch)

    monkeypatch.setattr(storing, "show", look)
    importing.carry_out(owner, path)
    assert seen == [(0, 3)]
    assert Conversation.objects.for_owner(owner).listed().count() == 3
    assert not Deletion.objects.filter(state="staged").exists()


@pytest.mark.parametrize("times", [1, 2, 3])
def test_killed_between_two_portions_it_leaves_nothing(owner, path, times, monkeypatch):
    before = document(owner)
    with monkeypatch.context() as patch:
        real, count = chats.hold, iter(range(1, 99))
        patch.setattr(staging, "_remove", lambda batch: None)

        def hold(batch):
            real(batch)
            if next(count) == times:
                raise Killed

        patch.setattr(chats, "hold", hold)
        with pytest.raises(Killed):
            importing.carry_out(owner, path)
    assert document(owner) == before
    assert Conversation.objects.count() == times - 1
    assert importing.remove_abandoned() == 0
    assert importing.dry_run(owner, path).conversations.added == 3
    Deletion.objects.filter(state="staged").update(expires_at=timezone.now() - timedelta(seconds=1))
    sweep_deletions({})
    assert not Conversation.objects.exists()
    assert not Deletion.objects.filter(state="staged").exists()


def test_a_start_of_the_server_removes_what_a_killed_import_left(owner, path):
    now = timezone.now()
    batch = Deletion.objects.create(
        owner=owner, pressed_at=now, expires_at=now - timedelta(minutes=1), state="staged"
    )
    Conversation.objects.create(owner=owner, app=App.objects.get(owner=owner), deletion=batch)
    recover(now)
    assert not Conversation.objects.exists()


def test_the_next_import_does_too_and_is_whole(owner, path):
    now = timezone.now()
    Deletion.objects.create(owner=owner, expires_at=now - timedelta(minutes=1), state="staged")
    assert importing.carry_out(owner, path).conversations.added == 3
    assert not Deletion.objects.filter(state="staged").exists()


def test_failing_in_the_last_step_it_takes_all_back(owner, path, monkeypatch):
    before = document(owner)

    def fail(*_args):
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(run.Told, "write", fail)
    with pytest.raises(RuntimeError):
        importing.carry_out(owner, path)
    assert document(owner) == before
    assert not Conversation.objects.exists()
    assert not Message.objects.exists()
    assert not Fact.objects.exists()


def test_two_at_once_are_one_too_many(owner, path):
    Deletion.objects.create(owner=owner, expires_at=timezone.now() + timedelta(minutes=1), state="staged")
    with pytest.raises(Refused, match="Another import is at work"):
        importing.carry_out(owner, path)
    assert not Conversation.objects.exists()


def test_another_owner_s_import_does_not_stand_in_the_way(owner, other, path):
    Deletion.objects.create(owner=other, expires_at=timezone.now() + timedelta(minutes=1), state="staged")
    assert importing.carry_out(owner, path).conversations.added == 3


def test_everything_deleted_meanwhile_stays_deleted(owner, path, monkeypatch):
    real = run.hold

    def erase(batch):
        deletion = deletions.erase_all(owner)
        deletions.finish(deletion.pk, timezone.now() + timedelta(minutes=1))
        real(batch)

    monkeypatch.setattr(run, "hold", erase)
    with pytest.raises(Refused, match="Everything was deleted"):
        importing.carry_out(owner, path)
    assert not Conversation.objects.exists()


def test_one_that_slept_too_long_shows_nothing_of_what_is_being_removed(owner, path, monkeypatch):
    real = staging.keeping.remove
    seen = []

    def wake(conversation):
        seen.append(Conversation.objects.for_owner(owner).listed().count())
        real(conversation)
        if len(seen) == 1:
            # Two chats are still there when the import goes on.
            with pytest.raises(Refused, match="stood still for too long"):
                staging.hold(Deletion.objects.get(state="staged"))

    def sleep(batch):
        Deletion.objects.filter(pk=batch.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
        with monkeypatch.context() as patch:
            patch.setattr(staging.keeping, "remove", wake)
            assert importing.remove_abandoned() == 1
        staging.hold(batch)

    monkeypatch.setattr(run, "hold", sleep)
    with pytest.raises(Refused):
        importing.carry_out(owner, path)
    assert seen == [0, 0, 0]
    assert not Conversation.objects.exists()


def test_while_nothing_new_is_read_it_says_that_it_is_at_work(owner, path, monkeypatch):
    importing.carry_out(owner, path)
    monkeypatch.setattr(staging, "_TOLD_SECONDS", 0)
    said = []
    monkeypatch.setattr(staging, "hold", lambda batch: said.append(batch))
    importing.carry_out(owner, path)
    assert len(said) == 3


def test_what_is_staged_cannot_be_undone_by_hand(owner, path):
    batch = Deletion.objects.create(
        owner=owner, expires_at=timezone.now() + timedelta(minutes=1), state="staged"
    )
    with pytest.raises(deletions.TooLate):
        deletions.undo(batch)
    assert not deletions.finish(batch.pk, timezone.now() + timedelta(hours=1))
