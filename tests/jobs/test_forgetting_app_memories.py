"""What apps remember is forgotten with undo, and never told again; the owner's words stay."""

from __future__ import annotations

import pytest

from chat.actions import app_memories, conversations, deletions
from chat.actions.branches import clear
from chat.context.prompt import build
from chat.jobs.runner import run_due
from chat.models import App, AppMemory, Conversation, Job, Message

from .remembering import NOTE, TENT, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_once")]


class TestForgetting:
    def test_it_is_out_of_sight_and_out_of_prompts_at_once_and_undo_brings_it_back(
        self, remember, say, scripted
    ):
        remember(TENT, NOTE)
        memory = AppMemory.objects.get()
        chat = say("What else?")
        asked = Message.objects.get(conversation=chat, role="user")
        prompt = build(chat, asked, scripted)
        Conversation.objects.filter(pk=chat.pk).update(memory_block=prompt.block.text)
        deletion = deletions.forget_app_memories(memory.app, [memory.pk])
        assert told() == []
        chat.refresh_from_db()
        assert chat.memory_block is None
        assert NOTE not in build(chat, asked, scripted).turns[0].content
        # A prompt that was being made at the press has kept it.
        Conversation.objects.filter(pk=chat.pk).update(memory_block=prompt.block.text)
        chat.refresh_from_db()
        assert NOTE not in build(chat, asked, scripted).turns[0].content
        deletions.undo(deletion)
        assert told() == [NOTE]

    def test_at_the_deadline_it_is_gone_and_not_learned_again(self, remember, scripted):
        chat = remember(TENT, NOTE)
        memory = AppMemory.objects.get()
        deletion = deletions.forget_app_memories(memory.app, [memory.pk])
        assert deletions.finish(deletion.pk, deletion.expires_at + deletions.GRACE)
        assert not AppMemory.objects.exists()
        chat.refresh_from_db()
        remember(
            "We took the Fjell 2, in green, and two mats for the nights.", "The user took the Fjell 2.", chat
        )
        assert told() == ["The user took the Fjell 2."]
        assert TENT not in scripted.calls[-1].turns[-1].content

    def test_nor_is_what_another_memory_has_absorbed(self, full, remember, scripted):
        AppMemory.objects.filter(pk=full[2].pk).update(
            content="The user plans nine days in the fells with Tom."
        )
        scripted.app_choices.append("edit 3")
        chat = remember(TENT, NOTE)
        deletion = deletions.forget_app_memories(chat.app, [full[2].pk])
        deletions.finish(deletion.pk, deletion.expires_at + deletions.GRACE)
        remember(
            "We took the Fjell 2, in green, and two mats for the nights.", "The user took the Fjell 2.", chat
        )
        assert TENT not in scripted.calls[-1].turns[-1].content
        assert told()[0] == "The user took the Fjell 2."

    def test_an_app_is_cleared_as_a_whole(self, full, remember, owner):
        other = App.objects.create(owner=owner, slug="work", name="Work")
        AppMemory.objects.create(owner=owner, app=other, content="The user writes reports.")
        deletion = deletions.forget_app_memories(full[0].app)
        assert told() == ["The user writes reports."]
        deletions.finish(deletion.pk, deletion.expires_at + deletions.GRACE)
        assert AppMemory.objects.count() == 1

    def test_it_outlives_its_conversation_unless_it_is_to_go_too(self, remember):
        chat = remember(TENT, NOTE)
        deletion = deletions.delete_conversation(chat)
        deletions.finish(deletion.pk, deletion.expires_at + deletions.GRACE)
        assert AppMemory.objects.get().source_conversation is None
        again = remember(TENT, "The user needs a tent for two.")
        deletion = deletions.delete_conversation(again, with_memories=True)
        assert told() == [NOTE]
        deletions.finish(deletion.pk, deletion.expires_at + deletions.GRACE)
        assert [m.content for m in AppMemory.objects.all()] == [NOTE]

    def test_deleting_everything_takes_it_and_undo_brings_it_back(self, remember, owner):
        remember(TENT, NOTE)
        deletion = deletions.erase_all(owner)
        assert told() == []
        deletions.undo(deletion)
        assert told() == [NOTE]
        deletion = deletions.erase_all(owner)
        deletions.finish(deletion.pk, deletion.expires_at + deletions.GRACE)
        assert not AppMemory.objects.exists()


class TestTheOwnersWords:
    def test_an_edit_reaches_the_next_prompt_and_is_not_written_over(self, remember, say, scripted):
        chat = remember(TENT, NOTE)
        memory = AppMemory.objects.get()
        app_memories.edit(memory, "We go to the fells in June instead.")
        other = say("What else?")
        asked = Message.objects.get(conversation=other, role="user")
        assert "in June instead" in build(other, asked, scripted).turns[0].content
        remember("We took the Fjell 2, in green.", "The user took the Fjell 2.", chat)
        assert told() == ["We go to the fells in June instead."]

    @pytest.mark.parametrize("text", ["", "   ", "x" * 201])
    def test_what_cannot_be_kept_is_refused_and_changes_nothing(self, remember, text):
        remember(TENT, NOTE)
        with pytest.raises(app_memories.Refused):
            app_memories.edit(AppMemory.objects.get(), text)
        assert told() == [NOTE]

    def test_one_on_its_way_out_cannot_be_edited(self, remember):
        remember(TENT, NOTE)
        memory = AppMemory.objects.get()
        deletions.forget_app_memories(memory.app, [memory.pk])
        with pytest.raises(app_memories.Refused):
            app_memories.edit(memory, "Something else")


def test_after_a_clear_what_was_said_before_it_is_not_told(say, scripted, full):
    chat = say(TENT)
    conversations.end(chat)
    Job.objects.filter(kind="extract").delete()
    deletion = deletions.forget_app_memories(chat.app)
    deletions.finish(deletion.pk, deletion.expires_at + deletions.GRACE)
    scripted.app_memories.append(NOTE)
    run_due({"app_memory"})
    assert told() == []


def test_an_earlier_wording_leaves_the_prompts_too(remember, say, scripted):
    chat = remember(TENT, NOTE)
    other = say("What else?")
    asked = Message.objects.get(conversation=other, role="user")
    Conversation.objects.filter(pk=other.pk).update(memory_block=build(other, asked, scripted).block.text)
    remember("We took the Fjell 2, in green.", "The user took the Fjell 2.", chat)
    deletions.forget_app_memories(chat.app)
    other.refresh_from_db()
    assert NOTE not in build(other, asked, scripted).turns[0].content


def test_everything_is_deleted_with_a_thousand_memories_too(owner, say):
    app = say("Begin").app
    AppMemory.objects.bulk_create(
        AppMemory(owner=owner, app=app, content=f"The user said thing {n}.") for n in range(1001)
    )
    deletion = deletions.erase_all(owner)
    assert told() == []
    deletions.undo(deletion)
    assert len(told()) == 1001


class TestMemoryTurnedOff:
    def test_what_was_said_while_it_was_off_is_never_told_and_what_was_before_stays(
        self, say, remember, scripted
    ):
        chat = remember(TENT, NOTE)
        chat = say("One more thing about the tent, please.", chat)
        conversations.set_memory_mode(chat, "off")
        chat = say(
            "Between us: I am getting a divorce from Anna in May.", Conversation.objects.get(pk=chat.pk)
        )
        conversations.set_memory_mode(chat, "on")
        chat = Conversation.objects.get(pk=chat.pk)
        remember("We took the Fjell 2, in green, and two mats.", f"{NOTE} The user took the Fjell 2.", chat)
        asked = scripted.calls[-1].turns[-1].content
        assert "divorce" not in asked
        assert NOTE in asked
        assert told() == [f"{NOTE} The user took the Fjell 2."]


def test_what_was_cleared_is_not_told(say, scripted):
    chat = say("My secret plan is a surprise party for Tom with forty guests on Friday.")
    clear(chat)
    chat = say(TENT, Conversation.objects.get(pk=chat.pk))
    conversations.end(chat)
    Job.objects.filter(kind="extract").delete()
    scripted.app_memories.append(NOTE)
    run_due({"app_memory"})
    assert "surprise" not in scripted.calls[-1].turns[-1].content
    assert told() == [NOTE]
