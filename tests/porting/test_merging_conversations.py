"""Chats that come in beside those of here: nothing of here is lost, nothing comes twice."""

from __future__ import annotations

from uuid import uuid4

import pytest

from chat.actions import deletions
from chat.actions.keeping import delete
from chat.models import Conversation, Job, Message

from .conftest import as_json, wipe

pytestmark = pytest.mark.django_db


class TestConversations:
    def test_one_that_went_on_elsewhere_goes_on_here(self, owner, spoken, taken):
        chat = spoken("one")
        spoken("two", chat)
        longer = as_json(owner)
        Message.objects.filter(seq__gt=2).delete()
        Conversation.objects.update(memory_block="old", title="Short")
        outcome = taken(longer)
        assert (outcome.conversations.changed, outcome.messages.added, outcome.messages.there) == (1, 2, 2)
        assert [m.content for m in Message.objects.order_by("seq")] == [
            "one",
            "Reply to one",
            "two",
            "Reply to two",
        ]
        chat = Conversation.objects.get()
        assert (chat.memory_block, chat.title) == (None, "one")
        assert not taken(longer).changes

    def test_what_was_chosen_for_it_here_stays(self, owner, spoken, taken):
        chat = spoken("one")
        spoken("two", chat)
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
        assert taken(longer).messages.added == 2
        chat.refresh_from_db()
        assert (chat.memory_mode, chat.pinned, chat.title) == ("off", True, "Mine")
        assert (chat.extracted_through, chat.cleared_through) == (9, 2)

    def test_one_that_went_on_here_stays_as_it_is(self, owner, spoken, taken):
        chat = spoken("one")
        shorter = as_json(owner)
        spoken("two", chat)
        assert not taken(shorter).changes
        assert Message.objects.count() == 4

    def test_one_that_went_on_here_and_there_is_there_twice_and_no_third_time(self, owner, spoken, taken):
        chat = spoken("one")
        spoken("there", chat)
        elsewhere = as_json(owner)
        Message.objects.filter(seq__gt=2).delete()
        spoken("here", chat)
        outcome = taken(elsewhere)
        assert (outcome.conversations.added, outcome.messages.added) == (1, 4)
        found = [
            [m.content for m in c.messages.order_by("seq") if m.role == "user"]
            for c in Conversation.objects.order_by("created_at", "updated_at")
        ]
        assert sorted(found) == [["one", "here"], ["one", "there"]]
        assert not taken(elsewhere).changes

    def test_a_chat_and_its_copy_in_one_file_are_told_where_they_are_one_here(self, owner, spoken, taken):
        chat = spoken("one")
        spoken("there", chat)
        elsewhere = as_json(owner)
        Message.objects.filter(seq__gt=2).delete()
        spoken("here", chat)
        taken(elsewhere)
        copy = Conversation.objects.exclude(pk=chat.pk).get()
        given = next(c for c in as_json(owner)["conversations"] if c["id"] == str(copy.pk))
        delete(copy)
        outcome = taken(elsewhere | {"conversations": [*elsewhere["conversations"], given]})
        assert (outcome.conversations.added, outcome.conversations.refused) == (1, 1)
        assert [r.why for r in outcome.refusals] == ["Another chat of this file is the same one here."]
        assert Conversation.objects.count() == 2

    def test_a_branch_that_was_left_elsewhere_is_left_here(self, owner, spoken, taken):
        chat = spoken("one")
        spoken("two", chat)
        longer = as_json(owner)
        first, second = longer["conversations"][0]["messages"][0], longer["conversations"][0]["messages"][2]
        first["replaced_by"] = second["id"]
        Message.objects.filter(seq__gt=2).delete()
        taken(longer)
        assert [m.content for m in Message.objects.shown()] == ["Reply to one", "two", "Reply to two"]

    def test_one_on_its_way_out_is_not_touched(self, owner, spoken, taken):
        chat = spoken("one")
        found = as_json(owner)
        deletions.delete_conversation(chat)
        outcome = taken(found)
        assert [r.why for r in outcome.refusals] == ["This chat is being deleted here. Undo that first."]
        assert Conversation.objects.get().deletion_id is not None

    def test_one_in_which_a_reply_is_being_written_is_not_touched(self, owner, spoken, talk, taken):
        chat = spoken("one")
        spoken("two", chat)
        found = as_json(owner)
        Message.objects.filter(seq__gt=2).delete()
        talk("three", chat)
        outcome = taken(found)
        assert outcome.conversations.added + outcome.conversations.refused == 1
        assert Message.objects.filter(conversation=chat, state="streaming").count() == 1

    def test_a_message_of_another_chat_keeps_its_place_there(self, owner, spoken, taken):
        spoken("one")
        found = as_json(owner)
        chat = found["conversations"][0]
        chat["id"] = str(uuid4())
        taken(found)
        assert sorted(c.messages.count() for c in Conversation.objects.all()) == [2, 2]

    def test_what_was_imported_is_neither_read_nor_told_by_memory(self, owner, spoken, taken):
        spoken("I live in Oslo")
        found = as_json(owner)
        wipe(owner)
        Job.objects.all().delete()
        taken(found)
        chat = Conversation.objects.get()
        assert not Message.objects.backlog(owner).exists()
        assert not Message.objects.unread_by_memory(chat).exists()
        assert chat.told_through == 2
        assert {job.kind for job in Job.objects.all()} == {"reindex", "sweep_index"}

    def test_with_a_tick_memory_reads_it(self, owner, spoken, taken):
        spoken("I live in Oslo")
        found = as_json(owner)
        wipe(owner)
        Job.objects.all().delete()
        taken(found, learn=True)
        assert Message.objects.backlog(owner).count() == 1
        assert Job.objects.filter(kind="extract").count() == 1

    def test_what_is_said_after_an_import_is_read(self, owner, spoken, taken):
        spoken("I live in Oslo")
        found = as_json(owner)
        wipe(owner)
        taken(found)
        spoken("I have a dog", Conversation.objects.get())
        assert [m.content for m in Message.objects.backlog(owner)] == ["I have a dog"]
