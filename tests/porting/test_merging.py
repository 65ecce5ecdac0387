"""What is here and what comes in become one: nothing of here is lost, nothing comes twice, the caps hold."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from chat.actions import deletions
from chat.actions.facts import add_fact, edit_fact, pin_fact
from chat.actions.keeping import delete
from chat.actions.messages import finish_reply
from chat.actions.preferences import set_language, set_persona, set_theme
from chat.models import App, AppMemory, Conversation, Fact, FactEvent, Job, Message, Relationship

from .conftest import as_json, wipe
from .worlds import SOME_FACT, build

pytestmark = pytest.mark.django_db


@pytest.fixture
def spoken(talk):
    """Returns a sayer of one exchange."""

    def say(text, conversation=None):
        asked, reply = talk(text, conversation)
        finish_reply(reply, f"Reply to {text}", "complete")
        return asked.conversation

    return say


def _of_another_machine(found):
    """Give the first app of a document, and its chats, a key that is not here."""
    app = next(app for app in found["apps"] if app["slug"] == "general")
    key = str(uuid4())
    for chat in found["conversations"]:
        if chat["app"] == app["id"]:
            chat["app"] = key
    app["id"] = key


def finish(deletion):
    deletions.finish(deletion.pk, timezone.now() + timedelta(minutes=1))


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


class TestFacts:
    def test_one_that_says_the_same_is_known_and_not_reinforced(self, owner, taken):
        add_fact(owner, "I like green tea")
        found = as_json(owner)
        wipe(owner)
        known = add_fact(owner, "i like GREEN tea!")
        outcome = taken(found)
        assert (outcome.facts.added, outcome.facts.there) == (0, 1)
        known.refresh_from_db()
        assert known.mention_count == 1
        assert Fact.objects.count() == 1

    def test_one_that_changed_elsewhere_changes_here(self, owner, taken):
        fact = add_fact(owner, "I like tea")
        before = as_json(owner)["facts"][0]["history"]
        edit_fact(fact, "I like green tea")
        newer = as_json(owner)
        FactEvent.objects.exclude(pk=before[0]["id"]).delete()
        Fact.objects.filter(pk=fact.pk).update(text="I like tea", version=1)
        outcome = taken(newer)
        assert outcome.facts.changed == 1
        assert Fact.objects.get().text == "I like green tea"
        assert not taken(newer).changes

    def test_one_that_changed_here_stays(self, owner, taken):
        fact = add_fact(owner, "I like tea")
        older = as_json(owner)
        edit_fact(fact, "I like green tea")
        assert not taken(older).changes
        assert Fact.objects.get().text == "I like green tea"

    def test_one_that_changed_here_and_there_stays_as_it_is_here(self, owner, taken):
        fact = add_fact(owner, "I like tea")
        edit_fact(fact, "I like black tea")
        elsewhere = as_json(owner)
        FactEvent.objects.filter(kind="edit").delete()
        Fact.objects.update(text="I like tea")
        edit_fact(Fact.objects.get(), "I like green tea")
        outcome = taken(elsewhere)
        assert [r.why for r in outcome.refusals] == ["It changed here and there. What is here stays."]
        assert Fact.objects.get().text == "I like green tea"

    def test_never_more_than_the_cap_live_here_and_what_was_here_stays(self, owner, make_fact, taken):
        build(owner, messages=0, facts=60)
        found = as_json(owner)
        wipe(owner)
        for n in range(120):
            make_fact(f"I like thing number {n}")
        outcome = taken(found)
        assert Fact.objects.filter(owner=owner).live().count() == 150
        assert Fact.objects.live().filter(text__startswith="I like thing").count() == 120
        assert Fact.objects.live().filter(pinned=True).count() == 3
        assert any("30 go to the archive" in note for note in outcome.notes)
        assert FactEvent.objects.filter(kind="evict").count() == 30
        assert not taken(found).changes

    def test_never_more_than_ten_are_pinned(self, owner, make_fact, taken):
        build(owner, messages=0, facts=5)
        found = as_json(owner)
        wipe(owner)
        for n in range(9):
            make_fact(f"I like thing number {n}", pinned=True)
        outcome = taken(found)
        assert Fact.objects.filter(pinned=True).count() == 10
        assert any("2 come without their pins" in note for note in outcome.notes)

    def test_of_two_values_the_one_that_was_learned_later_lives(self, owner, taken):
        add_fact(owner, "I live in Oslo")
        found = as_json(owner)
        wipe(owner)
        add_fact(owner, "I live in Bergen")
        outcome = taken(found)
        assert [f.text for f in Fact.objects.live()] == ["I live in Bergen"]
        assert Fact.objects.get(text="I live in Bergen").supersedes == Fact.objects.get(text="I live in Oslo")
        assert any(note.startswith("1 memory says something else") for note in outcome.notes)

    def test_what_a_known_fact_had_replaced_elsewhere_hangs_on_the_one_of_here(self, owner, taken):
        add_fact(owner, "I live in Oslo")
        add_fact(owner, "I live in Bergen")
        found = as_json(owner)
        wipe(owner)
        known = add_fact(owner, "I live in Bergen")
        taken(found)
        known.refresh_from_db()
        assert known.supersedes.text == "I live in Oslo"

    def test_the_graph_is_told_once(self, owner, taken):
        add_fact(owner, "I like green tea")
        found = as_json(owner)
        wipe(owner)
        add_fact(owner, "I like green tea and coffee")
        taken(found)
        taken(found)
        assert Relationship.objects.filter(source_fact__text="I like green tea").count() == 1

    def test_vectors_are_made_anew(self, owner, taken):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        Job.objects.all().delete()
        taken(found)
        assert Job.objects.filter(kind="reindex").exists()

    def test_a_secret_stays_out(self, owner, taken):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        found["facts"][0]["text"] = "My password: hunter2secret99"
        taken(found)
        assert "hunter2" not in Fact.objects.get(pk=found["facts"][0]["id"]).text


class TestForgotten:
    def test_what_was_forgotten_here_does_not_come_back_by_an_older_file(self, owner, taken):
        fact = add_fact(owner, "I like green tea")
        older = as_json(owner)
        finish(deletions.forget(owner, [fact.pk]))
        outcome = taken(older)
        assert [(r.what, r.why) for r in outcome.refusals] == [
            ("I like green tea", "You have forgotten this here.")
        ]
        assert not Fact.objects.exists()

    def test_unless_the_owner_wants_it_back(self, owner, taken):
        fact = add_fact(owner, "I like green tea")
        older = as_json(owner)
        finish(deletions.forget(owner, [fact.pk]))
        taken(older, forgotten=True)
        assert Fact.objects.get().text == "I like green tea"
        assert not taken(older).changes

    def test_what_was_learned_again_later_comes_in(self, owner, taken, clock):
        fact = add_fact(owner, "I like green tea")
        finish(deletions.forget(owner, [fact.pk]))
        clock(3600)
        fact = add_fact(owner, "I like green tea")
        newer = as_json(owner)
        Fact.objects.all().delete()
        assert taken(newer).facts.added == 1

    def test_what_is_on_its_way_out_does_not_come_back_either(self, owner, taken):
        fact = add_fact(owner, "I like green tea")
        older = as_json(owner)
        deletions.forget(owner, [fact.pk])
        outcome = taken(older)
        assert outcome.facts.refused == 1
        assert not Fact.objects.live().exists()

    def test_notes_and_reports_do_not_tell_it_again(self, owner, taken):
        build(owner)
        fact = add_fact(owner, "User likes tea")
        older = as_json(owner)
        chat = older["conversations"][0]
        chat["messages"][1]["report"]["facts"] = [str(fact.pk), SOME_FACT]
        finish(deletions.forget(owner, [fact.pk]))
        delete(Conversation.objects.get())
        taken(older)
        assert not Message.objects.filter(note__contains="tea").exists()
        assert Message.objects.get(seq=2).report.facts == [SOME_FACT]

    def test_nor_does_the_history_of_another_fact(self, owner, taken):
        fact = add_fact(owner, "I like tea")
        edit_fact(fact, "I like green tea")
        older = as_json(owner)
        Fact.objects.all().delete()
        twin = add_fact(owner, "I like tea")
        finish(deletions.forget(owner, [twin.pk]))
        taken(older)
        assert "text" not in FactEvent.objects.get(kind="add").after

    def test_what_an_app_has_forgotten_of_a_chat_stays_forgotten(self, owner, spoken, taken):
        chat = spoken("one")
        memory = AppMemory.objects.create(
            owner=owner, app=chat.app, content="One.", source_conversation=chat, metadata={"through": 2}
        )
        older = as_json(owner)
        finish(deletions.forget_app_memories(chat.app, [memory.pk]))
        outcome = taken(older)
        assert [r.why for r in outcome.refusals] == ["You have forgotten this here."]
        assert not AppMemory.objects.exists()


class TestRooms:
    def test_an_app_that_is_used_here_keeps_name_and_persona_and_takes_the_chats_in(
        self, owner, spoken, taken
    ):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        app = App.objects.get(owner=owner)
        _of_another_machine(found)
        spoken("here")
        set_persona(app, "You are mine.")
        taken(found)
        app.refresh_from_db()
        assert app.persona == "You are mine."
        assert app.conversations.count() == 2
        assert sorted(App.objects.values_list("slug", flat=True)) == ["general", "work"]

    def test_an_app_remembers_ten_chats_and_the_newest_come_in(self, owner, spoken, taken):
        build(owner, messages=400)
        found = as_json(owner)
        wipe(owner)
        _of_another_machine(found)
        app = App.objects.get(owner=owner)
        for n in range(9):
            AppMemory.objects.create(owner=owner, app=app, content=f"Mine {n}.")
        outcome = taken(found)
        assert AppMemory.objects.filter(app=app).count() == 10
        assert "This app remembers ten chats already." in [r.why for r in outcome.refusals]

    def test_no_two_apps_have_one_name(self, owner, taken):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        App.objects.create(owner=owner, slug="office", name="work", persona="Mine.")
        taken(found)
        assert sorted(App.objects.values_list("name", flat=True)) == ["General", "Work 2", "work"]
        assert not taken(found).changes

    def test_settings_that_were_chosen_here_stay(self, owner, taken):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        set_theme(owner, "light")
        set_language(owner, "en")
        taken(found)
        chosen = owner.memory_settings
        chosen.refresh_from_db()
        assert (chosen.theme, chosen.language, chosen.time_zone) == ("light", "en", "Europe/Oslo")

    def test_an_import_does_not_have_chats_of_here_deleted_at_night(self, owner, spoken, taken):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        spoken("here")
        outcome = taken(found)
        owner.memory_settings.refresh_from_db()
        assert owner.memory_settings.prune_after == 0
        assert "It would delete chats that are here already." in [r.why for r in outcome.refusals]

    def test_it_says_how_many_chats_go_at_night(self, owner, taken):
        build(owner)
        found = as_json(owner)
        wipe(owner)
        found["conversations"][0]["updated_at"] = "2001-01-01T00:00:00+00:00"
        assert any("1 chat is older than 365 days" in note for note in taken(found).notes)

    def test_pins_of_here_are_kept_when_a_fact_changes(self, owner, taken):
        fact = add_fact(owner, "I like tea")
        pin_fact(fact, True)
        found = as_json(owner)
        assert not taken(found).changes
        assert Fact.objects.get().pinned
        assert UUID(found["facts"][0]["id"]) == fact.pk
