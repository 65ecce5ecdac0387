"""The slash commands work in the terminal as in the browser."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from chat.actions.deletions import delete_conversation
from chat.actions.facts import add_fact
from chat.actions.messages import add_message
from chat.commands import COMMANDS
from chat.models import Conversation, Deletion, Fact, Message
from chat.search.semantic import find_best_match
from chat.terminal import commands


def test_every_command_of_the_table_is_implemented():
    assert commands._HANDLERS.keys() == {command.name for command in COMMANDS}


def test_help_lists_all_commands(typed):
    shown = typed("/help")
    assert all(f"/{command.name}" in shown for command in COMMANDS)


def test_an_unknown_command_says_so(typed):
    assert "There is no command /nothing" in typed("/nothing")
    assert not Message.objects.exists()


class TestChats:
    """Commands that list, load, start, save, hide and delete chats."""

    def test_chats_are_listed_and_loaded_by_number_and_title_and_id(self, typed, talk):
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
        assert "No chat matches this." in typed("/load trains")

    def test_a_number_without_a_list_counts_the_last_chats(self, typed, talk):
        typed("About bread", "/new", "About boats", "/load 2")
        assert talk.conversation == str(Conversation.objects.order_by("created_at")[0].pk)

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
    def test_load_with_unmatched_words_finds_no_chat(self, typed, talk, words):
        typed("About bread")
        here = talk.conversation
        assert typed("/sessions", f"/load {words}").endswith("\nNo chat matches this.\n")
        assert talk.conversation == here

    def test_a_chat_deleted_elsewhere_is_reported_and_the_next_line_starts_a_new_one(self, typed, owner):
        typed("About bread")
        delete_conversation(Conversation.objects.get())
        for said in ("More", "/clear"):
            shown = typed(said, "Hello")
            assert shown == ("This chat no longer exists. Your next message starts a new one.\nUnderstood.\n")
            delete_conversation(Conversation.objects.not_deleted().get())

    def test_a_temporary_chat_is_deleted_when_it_is_left(self, typed):
        shown = typed("/temporary", "Hello", "/forget", "/new")
        assert "is deleted when you leave it" in shown
        assert "A temporary chat is deleted when you leave it." in shown
        assert not Conversation.objects.exists()

    def test_a_temporary_chat_can_be_kept(self, typed):
        assert "stays from now on" in typed("/temporary", "Hello there", "/save")
        chat = Conversation.objects.get()
        assert (chat.temporary, chat.title, chat.memory_mode) == (False, "Hello there", "on")
        assert chat.extracted_through == 1
        assert "saved already" in typed("/save", "/new")
        assert Conversation.objects.exists()

    def test_a_message_to_a_deleted_temporary_chat_starts_a_new_one(self, typed):
        typed("/temporary", "Hello")
        Conversation.objects.all().delete()
        assert "A new one was started" in typed("Are you there?")
        assert Message.objects.filter(role="user").get().content == "Are you there?"

    def test_a_deleted_temporary_chat_is_left_without_an_error(self, typed, talk):
        typed("/temporary", "Hello")
        Conversation.objects.all().delete()
        assert "A new chat." in typed("/new")
        assert (talk.conversation, talk.temporary) == ("", False)

    def test_history_is_hidden_from_the_model_and_shown_again(self, typed, scripted):
        typed("I like rye bread", "/clear", "What do I like?")
        assert "rye" not in str(scripted.calls[-1].turns)
        assert "› I like rye bread" in typed("/history")
        typed("And now?")
        assert "rye" not in str(scripted.calls[-1].turns)
        typed("/restore", "And now?")
        assert "rye" in str(scripted.calls[-1].turns)

    def test_clear_says_how_to_take_it_back(self, typed):
        assert "/restore brings it back." in typed("Hello", "/clear")

    def test_history_shows_tools_and_instructions(self, typed):
        typed("How warm is it?")
        chat = Conversation.objects.get()
        add_message(chat, "assistant", "", tool_calls=[{"id": "a", "function": {"name": "weather"}}])
        add_message(chat, "tool", "8 degrees", tool_call_id="a", name="weather")
        add_message(chat, "system", "Be brief.")
        assert typed("/history") == (
            "› How warm is it?\n  Understood.\n  Tools called: weather\n  Result of weather: 8 degrees\n"
            "  Instruction: Be brief.\n"
        )

    def test_a_chat_is_deleted_and_restored(self, typed, talk):
        shown = typed("Hello", "/forget")
        assert "/undo takes it back until" in shown
        assert talk.conversation == ""
        assert Conversation.objects.get().deletion is not None
        assert "Undone." in typed("/undo")
        assert Conversation.objects.get().deletion is None
        assert talk.conversation == str(Conversation.objects.get().pk)
        assert "nothing to undo" in typed("/undo")

    def test_undo_after_the_deadline_is_refused(self, typed):
        typed("Hello", "/forget")
        Deletion.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
        assert "too late" in typed("/undo")

    @pytest.mark.parametrize("command", ["/clear", "/restore", "/history", "/forget", "/save"])
    def test_commands_on_an_empty_chat_say_that_it_is_empty(self, typed, command):
        assert "Nothing has been said here yet." in typed(command)


class TestLongLists:
    """Lists of several pages are shown completely, each item once."""

    def test_all_memories_of_several_pages_are_shown(self, typed, make_fact):
        for n in range(101):
            make_fact(f"User keeps {n} bees")
        shown = typed("/memories")
        assert all(shown.count(f"keeps {n} bees") == 1 for n in range(101))

    def test_all_messages_of_several_pages_are_shown(self, typed, owner):
        from chat.actions.owners import default_app

        long = Conversation.objects.create(owner=owner, app=default_app(owner), title="Long")
        Message.objects.bulk_create(
            Message(conversation=long, seq=n, role="user", content=f"word{n}.") for n in range(1, 104)
        )
        shown = typed(f"/load {long.pk}")
        assert all(shown.count(f"word{n}.") == 1 for n in range(1, 104))


class TestMemory:
    """Commands that show, add and forget memories."""

    def test_memories_are_listed_by_category(self, typed, owner):
        assert "No memories yet" in typed("/memories")
        add_fact(owner, "I like rye bread")
        add_fact(owner, "My name is Ada")
        shown = typed("/memories")
        assert shown.index("Preference") < shown.index("rye bread") < shown.index("Identity")

    def test_a_fact_is_remembered_once(self, typed):
        assert typed("/remember I like rye bread", "/remember I like rye bread") == (
            "Remembered.\nAlready remembered.\n"
        )
        fact = Fact.objects.get()
        assert (fact.mention_count, fact.origin, fact.confidence) == (2, "told", 0.9)

    @pytest.mark.parametrize("command", ["remember", "unlearn", "load"])
    def test_too_long_arguments_are_refused_with_the_limit(self, typed, command):
        assert re.fullmatch(r"String should have at most \d+ characters\n", typed(f"/{command} {'x' * 3000}"))

    def test_unlearn_forgets_the_same_memory_as_in_the_browser(self, typed, owner, make_fact, ours):
        make_fact("Likes tea")
        for text in ("Drinks tea with milk every single morning", "Collects cups for tea and for coffee"):
            make_fact(text)
        assert find_best_match(owner, "tea").text == "Likes tea"
        assert "Forgot “Likes tea”." in typed("/unlearn tea")

    def test_two_forgotten_memories_are_restored_one_after_the_other(self, typed, make_fact):
        for text in ("Likes rye bread", "Likes green tea"):
            make_fact(text)
        typed("/unlearn rye", "/unlearn green tea")
        Deletion.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
        assert typed("/undo", "/undo", "/undo") == "Undone.\nUndone.\nThere is nothing to undo.\n"
        assert Fact.objects.filter(deletion=None).count() == 2

    def test_unlearn_can_be_undone(self, typed, owner):
        fact = add_fact(owner, "I like rye bread")
        shown = typed("/unlearn rye", "/memories", "/undo", "/memories")
        assert "Forgot “" in shown
        assert "No memories yet" in shown
        assert "Undone." in shown
        fact.refresh_from_db()
        assert fact.deletion is None
        assert "No memory matches this." in typed("/unlearn motorways")
