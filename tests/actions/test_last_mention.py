"""A fact names the conversation in which it was mentioned last."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from chat.actions import archive, deletions
from chat.actions.extraction import record_extraction
from chat.actions.facts import add_fact, edit_fact
from chat.memory.candidates import Extraction, FactCandidate
from chat.models import Conversation, Fact, Origin

pytestmark = pytest.mark.django_db
TEA = FactCandidate("User likes tea", "likes", "preference", "", hedged=False, quote="I like tea.")


@pytest.fixture
def say_tea(talk):
    """Return a function that states the same fact in a new conversation and returns the conversation."""

    def say() -> Conversation:
        asked, _ = talk("I like tea.")
        record_extraction(asked, Extraction([TEA]), [None], "", 0.1)
        return asked.conversation

    return say


def last_conversation() -> Conversation | None:
    return Fact.objects.get(superseded_at=None, archived_at=None).last_seen_conversation


def test_the_first_mention_is_also_the_last(say_tea):
    chat = say_tea()
    fact = Fact.objects.get()
    assert (fact.source_conversation, fact.last_seen_conversation) == (chat, chat)


def test_it_follows_the_last_mention_and_the_source_stays(say_tea):
    first, _, last = say_tea(), say_tea(), say_tea()
    fact = Fact.objects.get()
    assert (fact.source_conversation, fact.last_seen_conversation) == (first, last)
    assert fact.mention_count == 3


def test_a_highlight_is_a_mention(owner, talk, say_tea):
    say_tea()
    _, reply = talk("What do you know?")
    add_fact(owner, "User likes tea", Origin.HIGHLIGHT, source=reply)
    assert last_conversation() == reply.conversation


def test_a_fact_added_by_hand_has_none_until_it_is_mentioned(owner, say_tea):
    add_fact(owner, "User likes tea")
    assert last_conversation() is None
    chat = say_tea()
    assert last_conversation() == chat


def test_an_addition_by_hand_keeps_the_conversation(owner, say_tea):
    chat = say_tea()
    add_fact(owner, "User likes tea")
    assert (last_conversation(), Fact.objects.get().mention_count) == (chat, 2)


def test_an_edit_into_a_known_fact_keeps_its_conversation(owner, say_tea):
    chat = say_tea()
    edit_fact(add_fact(owner, "User likes coffee"), "User likes tea")
    assert last_conversation() == chat


def test_a_deleted_conversation_is_not_named(say_tea):
    say_tea()
    say_tea().delete()
    assert last_conversation() is None


def test_a_restored_fact_takes_over_the_later_mention_of_its_duplicate(say_tea):
    say_tea()
    archived = Fact.objects.get()
    Fact.objects.update(archived_at=timezone.now())
    chat = say_tea()
    archive.restore_archived_fact(archived)
    assert (last_conversation(), Fact.objects.get().mention_count) == (chat, 2)


def test_an_undo_of_a_deletion_keeps_it(owner, say_tea):
    chat = say_tea()
    deletion = deletions.forget_facts(owner, [Fact.objects.get().pk])
    deletions.undo_deletion(deletion)
    assert last_conversation() == chat


def test_the_migration_reads_it_from_the_history(owner, say_tea, make_fact):
    chats = [say_tea(), say_tea()]
    by_hand = make_fact("User likes chess")
    older = make_fact("User likes rum", source_conversation=chats[0])
    Fact.objects.update(last_seen_conversation=None)
    migration = import_module("chat.migrations.0016_indexes_and_last_mention")
    migration.find_last_mentions(apps, SimpleNamespace(connection=connection))
    found = dict(Fact.objects.values_list("text", "last_seen_conversation"))
    assert found == {"User likes tea": chats[1].pk, older.text: chats[0].pk, by_hand.text: None}


class TestShown:
    def shown(self, client, fact) -> str:
        return " ".join(client.get(f"/memory/{fact.pk}/origin/").content.decode().split())

    def test_the_panel_links_to_it(self, ours_htmx, say_tea):
        say_tea()
        chat = say_tea()
        link = f'Last said in <a class="inline" href="/c/{chat.pk}/"'
        assert link in self.shown(ours_htmx, Fact.objects.get())

    def test_the_panel_does_not_show_it_for_a_single_mention(self, ours_htmx, say_tea):
        say_tea()
        assert "Last said in" not in self.shown(ours_htmx, Fact.objects.get())

    def test_the_panel_does_not_link_to_a_conversation_that_is_being_deleted(self, ours_htmx, say_tea):
        say_tea()
        deletions.delete_conversation(say_tea())
        assert "Last said in" not in self.shown(ours_htmx, Fact.objects.get())
