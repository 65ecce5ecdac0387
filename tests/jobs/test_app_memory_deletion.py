"""App memories are deleted with undo and not learned again; the owner's edits are not overwritten."""

from __future__ import annotations

import pytest

from chat.actions import app_memories, conversations, deletions
from chat.actions.message_edits import clear_conversation
from chat.context.prompt import build_prompt
from chat.jobs.runner import run_due
from chat.models import App, AppMemory, Conversation, Job, Message

from .app_memory_samples import TENT_MEMORY, TENT_MESSAGE, live_app_memories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("immediate_app_memories")]


class TestDeletion:
    def test_a_deleted_memory_leaves_prompts_immediately_and_undo_restores_it(
        self, write_app_memory, add_exchange, scripted
    ):
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        memory = AppMemory.objects.get()
        chat = add_exchange("What else?")
        asked = Message.objects.get(conversation=chat, role="user")
        prompt = build_prompt(chat, asked, scripted)
        Conversation.objects.filter(pk=chat.pk).update(memory_block=prompt.block.text)
        deletion = deletions.forget_app_memories(memory.app, [memory.pk])
        assert live_app_memories() == []
        chat.refresh_from_db()
        assert chat.memory_block is None
        assert TENT_MEMORY not in build_prompt(chat, asked, scripted).turns[0].content
        # A prompt that was being built during the deletion stores the old block again.
        Conversation.objects.filter(pk=chat.pk).update(memory_block=prompt.block.text)
        chat.refresh_from_db()
        assert TENT_MEMORY not in build_prompt(chat, asked, scripted).turns[0].content
        deletions.undo_deletion(deletion)
        assert live_app_memories() == [TENT_MEMORY]

    def test_a_deleted_memory_is_not_learned_again(self, write_app_memory, scripted):
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        memory = AppMemory.objects.get()
        deletion = deletions.forget_app_memories(memory.app, [memory.pk])
        assert deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)
        assert not AppMemory.objects.exists()
        chat.refresh_from_db()
        write_app_memory(
            "We took the Fjell 2, in green, and two mats for the nights.", "The user took the Fjell 2.", chat
        )
        assert live_app_memories() == ["The user took the Fjell 2."]
        assert TENT_MESSAGE not in scripted.calls[-1].turns[-1].content

    def test_a_memory_merged_into_a_deleted_one_is_not_learned_again(
        self, ten_memories, write_app_memory, scripted
    ):
        AppMemory.objects.filter(pk=ten_memories[2].pk).update(
            content="The user plans nine days in the fells with Tom."
        )
        scripted.app_choices.append("edit 3")
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        deletion = deletions.forget_app_memories(chat.app, [ten_memories[2].pk])
        deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)
        write_app_memory(
            "We took the Fjell 2, in green, and two mats for the nights.", "The user took the Fjell 2.", chat
        )
        assert TENT_MESSAGE not in scripted.calls[-1].turns[-1].content
        assert live_app_memories()[0] == "The user took the Fjell 2."

    def test_clearing_an_app_deletes_all_its_memories(self, ten_memories, write_app_memory, owner):
        other = App.objects.create(owner=owner, slug="work", name="Work")
        AppMemory.objects.create(owner=owner, app=other, content="The user writes reports.")
        deletion = deletions.forget_app_memories(ten_memories[0].app)
        assert live_app_memories() == ["The user writes reports."]
        deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)
        assert AppMemory.objects.count() == 1

    def test_a_memory_outlives_its_conversation_unless_deleted_with_it(self, write_app_memory):
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        deletion = deletions.delete_conversation(chat)
        deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)
        assert AppMemory.objects.get().source_conversation is None
        again = write_app_memory(TENT_MESSAGE, "The user needs a tent for two.")
        deletion = deletions.delete_conversation(again, with_memories=True)
        assert live_app_memories() == [TENT_MEMORY]
        deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)
        assert [m.content for m in AppMemory.objects.all()] == [TENT_MEMORY]

    def test_account_erasure_deletes_memories_and_undo_restores_them(self, write_app_memory, owner):
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        deletion = deletions.erase_account(owner)
        assert live_app_memories() == []
        deletions.undo_deletion(deletion)
        assert live_app_memories() == [TENT_MEMORY]
        deletion = deletions.erase_account(owner)
        deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)
        assert not AppMemory.objects.exists()


class TestEdits:
    def test_an_edited_memory_is_in_the_next_prompt_and_not_overwritten(
        self, write_app_memory, add_exchange, scripted
    ):
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        memory = AppMemory.objects.get()
        app_memories.edit_app_memory(memory, "We go to the fells in June instead.")
        other = add_exchange("What else?")
        asked = Message.objects.get(conversation=other, role="user")
        assert "in June instead" in build_prompt(other, asked, scripted).turns[0].content
        write_app_memory("We took the Fjell 2, in green.", "The user took the Fjell 2.", chat)
        assert live_app_memories() == ["We go to the fells in June instead."]

    @pytest.mark.parametrize("text", ["", "   ", "x" * 201])
    def test_an_invalid_text_is_refused(self, write_app_memory, text):
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        with pytest.raises(app_memories.Refused):
            app_memories.edit_app_memory(AppMemory.objects.get(), text)
        assert live_app_memories() == [TENT_MEMORY]

    def test_a_memory_pending_deletion_cannot_be_edited(self, write_app_memory):
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        memory = AppMemory.objects.get()
        deletions.forget_app_memories(memory.app, [memory.pk])
        with pytest.raises(app_memories.Refused):
            app_memories.edit_app_memory(memory, "Something else")


def test_messages_before_a_memory_clear_are_not_summarised(add_exchange, scripted, ten_memories):
    chat = add_exchange(TENT_MESSAGE)
    conversations.end_conversation(chat)
    Job.objects.filter(kind="extract").delete()
    deletion = deletions.forget_app_memories(chat.app)
    deletions.finish_deletion(deletion.pk, deletion.expires_at + deletions.UNDO_GRACE)
    scripted.app_memories.append(TENT_MEMORY)
    run_due({"app_memory"})
    assert live_app_memories() == []


def test_an_earlier_text_of_a_deleted_memory_leaves_prompts(write_app_memory, add_exchange, scripted):
    chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
    other = add_exchange("What else?")
    asked = Message.objects.get(conversation=other, role="user")
    Conversation.objects.filter(pk=other.pk).update(
        memory_block=build_prompt(other, asked, scripted).block.text
    )
    write_app_memory("We took the Fjell 2, in green.", "The user took the Fjell 2.", chat)
    deletions.forget_app_memories(chat.app)
    other.refresh_from_db()
    assert TENT_MEMORY not in build_prompt(other, asked, scripted).turns[0].content


def test_erasing_more_than_a_thousand_memories_works(owner, add_exchange):
    app = add_exchange("Begin").app
    AppMemory.objects.bulk_create(
        AppMemory(owner=owner, app=app, content=f"The user said thing {n}.") for n in range(1001)
    )
    deletion = deletions.erase_account(owner)
    assert live_app_memories() == []
    deletions.undo_deletion(deletion)
    assert len(live_app_memories()) == 1001


class TestMemoryTurnedOff:
    def test_messages_sent_while_memory_was_off_are_not_summarised(
        self, add_exchange, write_app_memory, scripted
    ):
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        chat = add_exchange("One more thing about the tent, please.", chat)
        conversations.set_memory_mode(chat, "off")
        chat = add_exchange(
            "Between us: I am getting a divorce from Anna in May.", Conversation.objects.get(pk=chat.pk)
        )
        conversations.set_memory_mode(chat, "on")
        chat = Conversation.objects.get(pk=chat.pk)
        write_app_memory(
            "We took the Fjell 2, in green, and two mats.", f"{TENT_MEMORY} The user took the Fjell 2.", chat
        )
        asked = scripted.calls[-1].turns[-1].content
        assert "divorce" not in asked
        assert TENT_MEMORY in asked
        assert live_app_memories() == [f"{TENT_MEMORY} The user took the Fjell 2."]


def test_cleared_messages_are_not_summarised(add_exchange, scripted):
    chat = add_exchange("My secret plan is a surprise party for Tom with forty guests on Friday.")
    clear_conversation(chat)
    chat = add_exchange(TENT_MESSAGE, Conversation.objects.get(pk=chat.pk))
    conversations.end_conversation(chat)
    Job.objects.filter(kind="extract").delete()
    scripted.app_memories.append(TENT_MEMORY)
    run_due({"app_memory"})
    assert "surprise" not in scripted.calls[-1].turns[-1].content
    assert live_app_memories() == [TENT_MEMORY]
