"""The slash commands do in the terminal what they do in the browser."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from chat.actions.deletions import delete_conversation
from chat.actions.facts import add_fact
from chat.commands import COMMANDS
from chat.models import Conversation, Deletion, Fact, Message
from chat.search.meant import meant
from chat.terminal import commands


def test_every_command_of_the_table_is_there():
    assert commands._DOERS.keys() == {command.name for command in COMMANDS}


def test_help_lists_them(typed):
    shown = typed("/help")
    assert all(f"/{command.name}" in shown for command in COMMANDS)


def test_what_is_no_command_says_so(typed):
    assert "There is no command /nothing" in typed("/nothing")
    assert not Message.objects.exists()


class TestChats:
    """Listed, loaded, begun, saved, hidden and deleted."""

    def test_they_are_listed_and_loaded_by_number_title_and_id(self, typed, talk):
        typed("About bread", "/new", "About boats")
        first, second = Conversation.objects.order_by("created_at")
        shown = typed("/sessions")
        assert shown.index("About boats") < shown.index("About bread")
        assert shown.startswith("*  1  About boats")
        loaded = typed("/load 2")
        assert loaded == "About bread\n› About bread\n  Understood.\n"
        assert talk.conversation == str(first.pk)
        typed("/load boats")
        assert talk.conversation == str(second.pk)
        typed(f"/load {first.pk}", "More")
        assert Message.objects.filter(conversation=first).count() == 4
        assert "No chat holds this." in typed("/load trains")

    @pytest.mark.parametrize(
        "words",
        [
            "²",
            "99999",
            "0",
            "Donaudampfschifffahrtsgesellschaftskapitän",
            str(UUID(int=1)),
            "../facts",
            "?q=x",
        ],
    )
    def test_words_that_no_chat_holds_are_no_number_and_no_address(self, typed, talk, words):
        typed("About bread")
        here = talk.conversation
        assert typed("/sessions", f"/load {words}").endswith("\nNo chat holds this.\n")
        assert talk.conversation == here

    def test_one_that_was_deleted_elsewhere_says_so_and_the_next_line_begins_another(self, typed, owner):
        typed("About bread")
        delete_conversation(Conversation.objects.get())
        for said in ("More", "/clear"):
            shown = typed(said, "Hello")
            assert shown == (
                "This chat is not there any more. What you write next begins a new one.\nUnderstood.\n"
            )
            delete_conversation(Conversation.objects.kept().get())

    def test_a_temporary_one_is_gone_when_it_is_left(self, typed):
        shown = typed("/temporary", "Hello", "/forget", "/new")
        assert "leaves nothing behind" in shown
        assert "gone once you leave it" in shown
        assert not Conversation.objects.exists()

    def test_a_temporary_one_may_be_kept(self, typed):
        assert "stays from now on" in typed("/temporary", "Hello there", "/save")
        chat = Conversation.objects.get()
        assert (chat.temporary, chat.title, chat.memory_mode) == (False, "Hello there", "on")
        assert chat.extracted_through == 1
        assert "saved already" in typed("/save", "/new")
        assert Conversation.objects.exists()

    def test_one_that_was_gone_already_begins_anew(self, typed):
        typed("/temporary", "Hello")
        Conversation.objects.all().delete()
        assert "a new one has begun" in typed("Are you there?")
        assert Message.objects.filter(role="user").get().content == "Are you there?"

    def test_one_that_is_gone_is_left_without_a_word(self, typed, talk):
        typed("/temporary", "Hello")
        Conversation.objects.all().delete()
        assert "A new chat." in typed("/new")
        assert (talk.conversation, talk.temporary) == ("", False)

    def test_its_history_is_hidden_from_the_model_and_shown_again(self, typed, scripted):
        typed("I like rye bread", "/clear", "What do I like?")
        assert "rye" not in str(scripted.calls[-1].turns)
        assert "› I like rye bread" in typed("/history")
        typed("And now?")
        assert "rye" in str(scripted.calls[-1].turns)

    def test_it_is_deleted_and_comes_back(self, typed, talk):
        shown = typed("Hello", "/forget")
        assert "/undo takes it back until" in shown
        assert talk.conversation == ""
        assert Conversation.objects.get().deletion is not None
        assert "Undone." in typed("/undo")
        assert Conversation.objects.get().deletion is None
        assert talk.conversation == str(Conversation.objects.get().pk)
        assert "nothing to undo" in typed("/undo")

    def test_it_cannot_come_back_too_late(self, typed):
        typed("Hello", "/forget")
        Deletion.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
        assert "too late" in typed("/undo")

    @pytest.mark.parametrize("command", ["/clear", "/history", "/forget", "/save"])
    def test_where_nothing_was_said_there_is_nothing_to_do(self, typed, command):
        assert "Nothing has been said here yet." in typed(command)


class TestLongLists:
    """What comes in pages is shown whole, and once."""

    def test_more_memories_than_a_page_holds(self, typed, make_fact):
        for n in range(101):
            make_fact(f"User keeps {n} bees")
        shown = typed("/memories")
        assert all(shown.count(f"keeps {n} bees") == 1 for n in range(101))

    def test_more_messages_than_a_page_holds(self, typed, owner):
        from chat.actions.owners import default_app

        long = Conversation.objects.create(owner=owner, app=default_app(owner), title="Long")
        Message.objects.bulk_create(
            Message(conversation=long, seq=n, role="user", content=f"word{n}.") for n in range(1, 104)
        )
        shown = typed(f"/load {long.pk}")
        assert all(shown.count(f"word{n}.") == 1 for n in range(1, 104))


class TestMemory:
    """Looked at, told and forgotten."""

    def test_it_is_listed_by_category(self, typed, owner):
        assert "No memories yet" in typed("/memories")
        add_fact(owner, "I like rye bread")
        add_fact(owner, "My name is Ada")
        shown = typed("/memories")
        assert shown.index("Preference") < shown.index("rye bread") < shown.index("Identity")

    def test_something_is_remembered_once(self, typed):
        assert typed("/remember I like rye bread", "/remember I like rye bread") == (
            "Remembered.\nAlready remembered.\n"
        )
        fact = Fact.objects.get()
        assert (fact.mention_count, fact.origin, fact.confidence) == (2, "told", 0.9)

    @pytest.mark.parametrize("command", ["remember", "unlearn", "load"])
    def test_too_many_words_are_told_how_many_may_be(self, typed, command):
        assert re.fullmatch(r"String should have at most \d+ characters\n", typed(f"/{command} {'x' * 3000}"))

    def test_the_memory_that_is_meant_is_the_one_that_the_browser_means(self, typed, owner, make_fact, ours):
        make_fact("Likes tea")
        for text in ("Drinks tea with milk every single morning", "Collects cups for tea and for coffee"):
            make_fact(text)
        assert meant(owner, "tea").text == "Likes tea"
        assert "Forgot “Likes tea”." in typed("/unlearn tea")

    def test_two_that_were_forgotten_come_back_one_after_the_other(self, typed, make_fact):
        for text in ("Likes rye bread", "Likes green tea"):
            make_fact(text)
        typed("/unlearn rye", "/unlearn green tea")
        Deletion.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
        assert typed("/undo", "/undo", "/undo") == "Undone.\nUndone.\nThere is nothing to undo.\n"
        assert Fact.objects.filter(deletion=None).count() == 2

    def test_it_is_forgotten_with_undo(self, typed, owner):
        fact = add_fact(owner, "I like rye bread")
        shown = typed("/unlearn rye", "/memories", "/undo", "/memories")
        assert "Forgot “" in shown
        assert "No memories yet" in shown
        assert "Undone." in shown
        fact.refresh_from_db()
        assert fact.deletion is None
        assert "Nothing remembered says this." in typed("/unlearn motorways")
