"""Imported conversations are merged with existing ones; nothing is lost or duplicated."""

from __future__ import annotations

from uuid import uuid4

import pytest

from chat.actions import deletions
from chat.actions.erasure import purge_conversation
from chat.models import Conversation, Job, Message

from .conftest import as_json, wipe

pytestmark = pytest.mark.django_db


class TestConversations:
    def test_new_messages_are_appended_to_an_existing_conversation(
        self, owner, add_exchange, import_document
    ):
        chat = add_exchange("one")
        add_exchange("two", chat)
        longer = as_json(owner)
        Message.objects.filter(seq__gt=2).delete()
        Conversation.objects.update(memory_block="old", title="Short")
        outcome = import_document(longer)
        assert (outcome.conversations.changed, outcome.messages.added, outcome.messages.there) == (1, 2, 2)
        assert [m.content for m in Message.objects.order_by("seq")] == [
            "one",
            "Reply to one",
            "two",
            "Reply to two",
        ]
        chat = Conversation.objects.get()
        assert (chat.memory_block, chat.title) == (None, "one")
        assert not import_document(longer).changes

    def test_settings_of_an_existing_conversation_are_kept(self, owner, add_exchange, import_document):
        chat = add_exchange("one")
        add_exchange("two", chat)
        longer = as_json(owner)
        Message.objects.filter(seq__gt=2).delete()
        Conversation.objects.update(
            memory_mode="off",
            pinned=True,
            title="Mine",
            titled_by="user",
            extracted_through=9,
            cleared_through=2,
        )
        assert import_document(longer).messages.added == 2
        chat.refresh_from_db()
        assert (chat.memory_mode, chat.pinned, chat.title) == ("off", True, "Mine")
        assert (chat.extracted_through, chat.cleared_through) == (9, 2)

    def test_an_older_export_does_not_change_a_longer_conversation(
        self, owner, add_exchange, import_document
    ):
        chat = add_exchange("one")
        shorter = as_json(owner)
        add_exchange("two", chat)
        assert not import_document(shorter).changes
        assert Message.objects.count() == 4

    def test_a_conversation_that_diverged_is_imported_once_as_a_copy(
        self, owner, add_exchange, import_document
    ):
        chat = add_exchange("one")
        add_exchange("there", chat)
        elsewhere = as_json(owner)
        Message.objects.filter(seq__gt=2).delete()
        add_exchange("here", chat)
        outcome = import_document(elsewhere)
        assert (outcome.conversations.added, outcome.messages.added) == (1, 4)
        found = [
            [m.content for m in c.messages.order_by("seq") if m.role == "user"]
            for c in Conversation.objects.order_by("created_at", "updated_at")
        ]
        assert sorted(found) == [["one", "here"], ["one", "there"]]
        assert not import_document(elsewhere).changes

    def test_a_conversation_and_its_copy_in_one_file_are_reported(self, owner, add_exchange, import_document):
        chat = add_exchange("one")
        add_exchange("there", chat)
        elsewhere = as_json(owner)
        Message.objects.filter(seq__gt=2).delete()
        add_exchange("here", chat)
        import_document(elsewhere)
        copy = Conversation.objects.exclude(pk=chat.pk).get()
        given = next(c for c in as_json(owner)["conversations"] if c["id"] == str(copy.pk))
        purge_conversation(copy)
        outcome = import_document(elsewhere | {"conversations": [*elsewhere["conversations"], given]})
        assert (outcome.conversations.added, outcome.conversations.refused) == (1, 1)
        assert [r.why for r in outcome.refusals] == ["Another chat in this file is the same chat."]
        assert Conversation.objects.count() == 2

    def test_a_message_replaced_in_the_file_is_replaced(self, owner, add_exchange, import_document):
        chat = add_exchange("one")
        add_exchange("two", chat)
        longer = as_json(owner)
        first, second = longer["conversations"][0]["messages"][0], longer["conversations"][0]["messages"][2]
        first["replaced_by"] = second["id"]
        Message.objects.filter(seq__gt=2).delete()
        import_document(longer)
        assert [m.content for m in Message.objects.current_branch()] == [
            "Reply to one",
            "two",
            "Reply to two",
        ]

    def test_a_conversation_pending_deletion_is_not_changed(self, owner, add_exchange, import_document):
        chat = add_exchange("one")
        found = as_json(owner)
        deletions.delete_conversation(chat)
        outcome = import_document(found)
        assert [r.why for r in outcome.refusals] == ["This chat is being deleted here. Undo that first."]
        assert Conversation.objects.get().deletion_id is not None

    def test_a_conversation_with_a_running_reply_is_not_changed(
        self, owner, add_exchange, talk, import_document
    ):
        chat = add_exchange("one")
        add_exchange("two", chat)
        found = as_json(owner)
        Message.objects.filter(seq__gt=2).delete()
        talk("three", chat)
        outcome = import_document(found)
        assert outcome.conversations.added + outcome.conversations.refused == 1
        assert Message.objects.filter(conversation=chat, state="streaming").count() == 1

    def test_messages_with_ids_of_another_conversation_are_copied(self, owner, add_exchange, import_document):
        add_exchange("one")
        found = as_json(owner)
        chat = found["conversations"][0]
        chat["id"] = str(uuid4())
        import_document(found)
        assert sorted(c.messages.count() for c in Conversation.objects.all()) == [2, 2]

    def test_imported_messages_are_not_extracted_by_default(self, owner, add_exchange, import_document):
        add_exchange("I live in Oslo")
        found = as_json(owner)
        wipe(owner)
        Job.objects.all().delete()
        import_document(found)
        chat = Conversation.objects.get()
        assert not Message.objects.backlog(owner).exists()
        assert not Message.objects.not_extracted(chat).exists()
        assert chat.app_memory_through == 2
        assert {job.kind for job in Job.objects.all()} == {"index_windows", "reindex", "sweep_index"}

    def test_imported_messages_are_extracted_if_the_owner_chooses(self, owner, add_exchange, import_document):
        add_exchange("I live in Oslo")
        found = as_json(owner)
        wipe(owner)
        Job.objects.all().delete()
        import_document(found, learn=True)
        assert Message.objects.backlog(owner).count() == 1
        assert Job.objects.filter(kind="extract").count() == 1

    def test_messages_after_an_import_are_extracted(self, owner, add_exchange, import_document):
        add_exchange("I live in Oslo")
        found = as_json(owner)
        wipe(owner)
        import_document(found)
        add_exchange("I have a dog", Conversation.objects.get())
        assert [m.content for m in Message.objects.backlog(owner)] == ["I have a dog"]
