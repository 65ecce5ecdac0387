"""Erasing an account hides its data immediately; after eight seconds without undo every row is deleted."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.utils import timezone

from chat.actions import apps as apps_module
from chat.actions import deletions, owners
from chat.actions.api_tokens import create_token
from chat.actions.facts import add_fact
from chat.actions.messages import add_message, finish_reply, send_message
from chat.actions.owners import default_app, settings_of
from chat.actions.topics import assign_topic
from chat.errors import TooLateToUndo
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

# Models that may have rows after the erasure: settings, the default app, the deletion, tokens, jobs.
REMAINING_MODELS = {"OwnerSettings", "App", "Deletion", "ApiToken", "Job"}


def create_all_kinds_of_data(user):
    """Create a conversation, facts, a finished deletion, apps, settings and a token for the user."""
    asked, reply = send_message(user, "My boat is called Rex.")
    assign_topic(asked, None, "Boats")
    finish_reply(reply, "A good name.", "complete")
    PromptReport.objects.create(reply=reply, window=2048)
    UsageRecord.objects.create(owner=user, purpose="reply", lane="chat", outcome="stop")
    add_fact(user, "I live in Oslo")
    add_fact(user, "I am building a boat with Rust")
    gone = deletions.forget_facts(user, [add_fact(user, "I like chess").pk])
    Deletion.objects.filter(pk=gone.pk).update(expires_at=timezone.now() - deletions.CLEAR_UNDO_WINDOW)
    deletions.finish_deletion(gone.pk, timezone.now())
    App.objects.create(owner=user, slug="work", name="Work")
    AppMemory.objects.create(owner=user, app=default_app(user), content="The user has a boat called Rex.")
    AppMemoryEvent.objects.create(owner=user, app=default_app(user), kind="add")
    owners.set_theme(user, "dark")
    owners.set_extraction_delay(user, "60")
    apps_module.set_persona(default_app(user), "You are a pirate.")
    create_token(user, "a program")
    return asked.conversation


def count_rows(user) -> dict[str, int]:
    """Return the user's row count for each model of the chat app that has any."""
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


def test_erased_data_is_hidden_immediately(owner, clock):
    clock(0)
    create_all_kinds_of_data(owner)
    deletions.erase_account(owner)
    assert not Fact.objects.for_owner(owner).live().exists()
    assert not Conversation.objects.for_owner(owner).not_deleted().exists()
    assert not Conversation.objects.for_owner(owner).listed().exists()


def test_undo_restores_all_data(owner, clock):
    clock(0)
    create_all_kinds_of_data(owner)
    before = count_rows(owner)
    deletion = deletions.erase_account(owner)
    clock(7)
    deletions.undo_deletion(deletion)
    clock(60)
    assert not deletions.finish_deletion(deletion.pk, timezone.now())
    assert Fact.objects.for_owner(owner).live().count() == 2
    assert Conversation.objects.for_owner(owner).not_deleted().count() == 1
    after = count_rows(owner)
    changed = {"FactEvent": after["FactEvent"], "Deletion": before["Deletion"] + 1}
    assert after == {**before, **changed}
    assert settings_of(owner.pk).theme == "dark"
    assert Job.objects.filter(kind="extract").exists()


def test_after_the_undo_window_only_default_settings_and_app_remain(owner, clock):
    clock(0)
    create_all_kinds_of_data(owner)
    deletion = deletions.erase_account(owner)
    clock(9.5)
    assert deletions.finish_deletion(deletion.pk, timezone.now())
    assert count_rows(owner).keys() <= REMAINING_MODELS
    assert count_rows(owner)["App"] == count_rows(owner)["Deletion"] == 1
    assert not Message.objects.exists()
    assert not FactEvent.objects.exists()
    assert not Tombstone.objects.exists()
    chosen = settings_of(owner.pk)
    assert (chosen.theme, chosen.look_after, default_app(owner).persona) == ("", 2, "")
    with pytest.raises(TooLateToUndo):
        deletions.undo_deletion(deletion)


def test_erasure_also_finishes_an_earlier_pending_deletion(owner, clock, make_fact):
    clock(0)
    running = deletions.forget_facts(owner, [make_fact("User likes tea").pk])
    deletion = deletions.erase_account(owner)
    clock(9.5)
    deletions.finish_deletion(deletion.pk, timezone.now())
    assert not Fact.objects.exists()
    assert not deletions.finish_deletion(running.pk, timezone.now())
    assert not Tombstone.objects.exists()


def test_data_created_after_the_erasure_request_stays(owner, clock):
    clock(0)
    create_all_kinds_of_data(owner)
    deletion = deletions.erase_account(owner)
    clock(2)
    asked, _ = send_message(owner, "Hello again")
    new = add_fact(owner, "I live in Bergen")
    clock(8)
    deletions.finish_deletion(deletion.pk, timezone.now())
    assert list(Conversation.objects.for_owner(owner)) == [asked.conversation]
    assert list(Fact.objects.for_owner(owner)) == [new]
    assert deletions.is_extraction_allowed(owner, asked.created_at)


def test_data_that_a_clock_in_the_past_finds_ahead_is_erased_too(owner, clock, make_fact):
    forgotten = deletions.forget_facts(owner, [make_fact("User likes tea").pk])
    assert deletions.finish_deletion(forgotten.pk, clock(20))
    assert Tombstone.objects.filter(owner=owner).exists()
    clock(-6 * 365 * 86_400)
    whole = deletions.erase_account(owner)
    assert deletions.finish_deletion(whole.pk, clock(20))
    assert not Tombstone.objects.filter(owner=owner).exists()
    assert list(Deletion.objects.filter(owner=owner)) == [whole]


def test_other_owners_data_is_unchanged(owner, other, clock):
    clock(0)
    create_all_kinds_of_data(owner)
    create_all_kinds_of_data(other)
    before = count_rows(other)
    deletion = deletions.erase_account(owner)
    clock(9.5)
    deletions.finish_deletion(deletion.pk, timezone.now())
    assert count_rows(other) == before
    assert settings_of(other.pk).theme == "dark"


def test_overdue_erasure_is_finished_at_process_start(owner, clock):
    clock(0)
    create_all_kinds_of_data(owner)
    deletions.erase_account(owner)
    clock(3600)
    assert deletions.finish_overdue_deletions(timezone.now()) == 1
    assert count_rows(owner).keys() <= REMAINING_MODELS


def test_interrupted_erasure_rolls_back_and_can_be_repeated(owner, clock, monkeypatch):
    clock(0)
    create_all_kinds_of_data(owner)
    deletion = deletions.erase_account(owner)
    before = count_rows(owner)
    clock(9.5)
    with monkeypatch.context() as patch:
        patch.setattr("chat.actions.erasure._reset_settings_and_apps", lambda owner: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            deletions.finish_deletion(deletion.pk, timezone.now())
    assert count_rows(owner) == before
    assert deletions.finish_deletion(deletion.pk, timezone.now())
    assert count_rows(owner).keys() <= REMAINING_MODELS


def test_erasing_an_account_without_data_resets_its_settings(owner, clock):
    clock(0)
    owners.set_theme(owner, "dark")
    deletion = deletions.erase_account(owner)
    clock(9.5)
    assert deletions.finish_deletion(deletion.pk, timezone.now())
    assert settings_of(owner.pk).theme == ""


def test_tool_messages_are_erased_too(owner, clock):
    clock(0)
    conversation = create_all_kinds_of_data(owner)
    add_message(conversation, "tool", "42", name="sum")
    deletion = deletions.erase_account(owner)
    clock(9.5)
    deletions.finish_deletion(deletion.pk, timezone.now())
    assert not Message.objects.exists()
