"""Deleting everything: gone at once, taken back as one, wiped by the server, and then as on the first day."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.utils import timezone

from chat.actions import deletions, preferences
from chat.actions.facts import add_fact
from chat.actions.messages import add_message, finish_reply, send_message
from chat.actions.owners import default_app, settings_of
from chat.actions.tokens import create_token
from chat.actions.topics import assign
from chat.models import (
    App,
    AppMemory,
    AppMemoryEvent,
    Conversation,
    Deletion,
    Fact,
    FactEvent,
    Job,
    Message,
    PromptReport,
    Tombstone,
    UsageRecord,
)

pytestmark = pytest.mark.django_db

# What may be left of an owner: themselves, their settings, their first app, the batch's own times.
LEFT = {"OwnerSettings", "App", "Deletion", "ApiToken", "Job"}


def live_through(user):
    """Let the user have one of everything, and forget something too."""
    asked, reply = send_message(user, "My boat is called Rex.")
    assign(asked, None, "Boats")
    finish_reply(reply, "A good name.", "complete")
    PromptReport.objects.create(reply=reply, window=2048)
    UsageRecord.objects.create(owner=user, purpose="reply", lane="chat", outcome="stop")
    add_fact(user, "I live in Oslo")
    add_fact(user, "I am building a boat with Rust")
    gone = deletions.forget(user, [add_fact(user, "I like chess").pk])
    Deletion.objects.filter(pk=gone.pk).update(expires_at=timezone.now() - deletions.CLEAR_WINDOW)
    deletions.finish(gone.pk, timezone.now())
    App.objects.create(owner=user, slug="work", name="Work")
    AppMemory.objects.create(owner=user, app=default_app(user), content="The user has a boat called Rex.")
    AppMemoryEvent.objects.create(owner=user, app=default_app(user), kind="add")
    preferences.set_theme(user, "dark")
    preferences.set_look_after(user, "60")
    preferences.set_persona(default_app(user), "You are a pirate.")
    create_token(user, "a program")
    return asked.conversation


def rows_of(user) -> dict[str, int]:
    """Return how many rows of each of our models belong to the user."""
    counts = {}
    for model in apps.get_app_config("chat").get_models():
        rows = model._default_manager
        if hasattr(rows, "for_owner"):
            count = rows.for_owner(user).count()
        else:
            count = rows.filter(owner=user).count() if hasattr(model, "owner") else 0
        if count:
            counts[model.__name__] = count
    return counts


def test_it_is_out_of_sight_at_once(owner, clock):
    clock(0)
    live_through(owner)
    deletions.erase_all(owner)
    assert not Fact.objects.for_owner(owner).live().exists()
    assert not Conversation.objects.for_owner(owner).kept().exists()
    assert not Conversation.objects.for_owner(owner).listed().exists()


def test_undo_brings_all_of_it_back(owner, clock):
    clock(0)
    live_through(owner)
    before = rows_of(owner)
    deletion = deletions.erase_all(owner)
    clock(7)
    deletions.undo(deletion)
    clock(60)
    assert not deletions.finish(deletion.pk, timezone.now())
    assert Fact.objects.for_owner(owner).live().count() == 2
    assert Conversation.objects.for_owner(owner).kept().count() == 1
    after = rows_of(owner)
    told = {"FactEvent": after["FactEvent"], "Deletion": before["Deletion"] + 1}
    assert after == {**before, **told}
    assert settings_of(owner.pk).theme == "dark"
    assert Job.objects.filter(kind="extract").exists()


def test_after_eight_seconds_nothing_is_left_but_an_empty_house(owner, clock):
    clock(0)
    live_through(owner)
    deletion = deletions.erase_all(owner)
    clock(9.5)
    assert deletions.finish(deletion.pk, timezone.now())
    assert rows_of(owner).keys() <= LEFT
    assert rows_of(owner)["App"] == rows_of(owner)["Deletion"] == 1
    assert not Message.objects.exists()
    assert not FactEvent.objects.exists()
    assert not Tombstone.objects.exists()
    chosen = settings_of(owner.pk)
    assert (chosen.theme, chosen.look_after, default_app(owner).persona) == ("", 2, "")
    with pytest.raises(deletions.TooLate):
        deletions.undo(deletion)


def test_a_deletion_that_was_running_already_is_finished_with_it(owner, clock, make_fact):
    clock(0)
    running = deletions.forget(owner, [make_fact("User likes tea").pk])
    deletion = deletions.erase_all(owner)
    clock(9.5)
    deletions.finish(deletion.pk, timezone.now())
    assert not Fact.objects.exists()
    assert not deletions.finish(running.pk, timezone.now())
    assert not Tombstone.objects.exists()


def test_what_is_begun_after_the_press_stays(owner, clock):
    clock(0)
    live_through(owner)
    deletion = deletions.erase_all(owner)
    clock(2)
    asked, _ = send_message(owner, "Hello again")
    new = add_fact(owner, "I live in Bergen")
    clock(8)
    deletions.finish(deletion.pk, timezone.now())
    assert list(Conversation.objects.for_owner(owner)) == [asked.conversation]
    assert list(Fact.objects.for_owner(owner)) == [new]
    assert deletions.may_read(owner, asked.created_at)


def test_nothing_of_anybody_else_is_touched(owner, other, clock):
    clock(0)
    live_through(owner)
    live_through(other)
    before = rows_of(other)
    deletion = deletions.erase_all(owner)
    clock(9.5)
    deletions.finish(deletion.pk, timezone.now())
    assert rows_of(other) == before
    assert settings_of(other.pk).theme == "dark"


def test_a_process_that_was_away_at_the_deadline_finishes_it_at_its_start(owner, clock):
    clock(0)
    live_through(owner)
    deletions.erase_all(owner)
    clock(3600)
    assert deletions.finish_overdue(timezone.now()) == 1
    assert rows_of(owner).keys() <= LEFT


def test_a_process_that_is_killed_in_the_middle_has_wiped_nothing_and_does_it_again(
    owner, clock, monkeypatch
):
    clock(0)
    live_through(owner)
    deletion = deletions.erase_all(owner)
    before = rows_of(owner)
    clock(9.5)
    with monkeypatch.context() as patch:
        patch.setattr("chat.actions.erasing._begin_again", lambda owner: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            deletions.finish(deletion.pk, timezone.now())
    assert rows_of(owner) == before
    assert deletions.finish(deletion.pk, timezone.now())
    assert rows_of(owner).keys() <= LEFT


def test_with_nothing_there_it_still_begins_again(owner, clock):
    clock(0)
    preferences.set_theme(owner, "dark")
    deletion = deletions.erase_all(owner)
    clock(9.5)
    assert deletions.finish(deletion.pk, timezone.now())
    assert settings_of(owner.pk).theme == ""


def test_another_programs_messages_go_too(owner, clock):
    clock(0)
    conversation = live_through(owner)
    add_message(conversation, "tool", "42", name="sum")
    deletion = deletions.erase_all(owner)
    clock(9.5)
    deletions.finish(deletion.pk, timezone.now())
    assert not Message.objects.exists()
