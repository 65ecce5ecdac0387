"""An app has at most ten memories: eviction, merging into another memory, and moves between apps."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DataError, IntegrityError, OperationalError

from chat.actions import app_memories, conversations, deletions
from chat.context.prompt import build_prompt
from chat.errors import ProviderError
from chat.jobs.runner import run_due
from chat.models import App, AppMemory, AppMemoryEvent, Conversation, Job, Message

from .app_memory_samples import TENT_MEMORY, TENT_MESSAGE, live_app_memories

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("immediate_app_memories")]


class TestEleventhMemory:
    def test_the_memory_the_model_chooses_is_evicted(self, ten_memories, write_app_memory, scripted):
        scripted.app_choices.append("delete 4")
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert len(live_app_memories()) == 10
        assert ten_memories[3].content not in live_app_memories()
        assert live_app_memories()[0] == TENT_MEMORY
        asked = next(call for call in scripted.calls if call.slot == "app_choice")
        assert f"4. {ten_memories[3].content}" in asked.turns[-1].content
        assert asked.turns[-1].content.endswith(f"New: {TENT_MEMORY}")

    def test_the_memory_the_model_chooses_absorbs_the_new_one(self, ten_memories, write_app_memory, scripted):
        AppMemory.objects.filter(pk=ten_memories[2].pk).update(
            content="The user plans nine days in the fells with Tom. They like maps."
        )
        scripted.app_choices.append("edit 3")
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert len(live_app_memories()) == 10
        ten_memories[2].refresh_from_db()
        assert (
            ten_memories[2].content
            == f"The user plans nine days in the fells with Tom. {TENT_MEMORY} They like maps."
        )
        assert ten_memories[2].metadata["related_conversations"] == [str(chat.pk)]

    @pytest.mark.parametrize(
        "answer", ["none", "delete 11", "edit 3", "edit 12", ProviderError("verbatim", sentence="no")]
    )
    def test_an_invalid_choice_evicts_the_oldest(self, ten_memories, write_app_memory, scripted, answer):
        scripted.app_choices.append(answer)
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert len(live_app_memories()) == 10
        assert ten_memories[0].content not in live_app_memories()
        assert TENT_MEMORY in live_app_memories()

    def test_a_similar_memory_is_replaced_without_a_model_call(
        self, ten_memories, write_app_memory, scripted
    ):
        AppMemory.objects.filter(pk=ten_memories[5].pk).update(
            content="The user needs a tent for nine days in the fells."
        )
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        ten_memories[5].refresh_from_db()
        assert ten_memories[5].content == TENT_MEMORY
        assert not any(call.slot == "app_choice" for call in scripted.calls)

    def test_edited_memories_are_evicted_last(self, ten_memories, write_app_memory, scripted):
        AppMemory.objects.filter(pk=ten_memories[0].pk).update(edited=True)
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert ten_memories[0].content in live_app_memories()
        assert ten_memories[1].content not in live_app_memories()

    def test_a_memory_pending_deletion_counts_towards_the_limit(
        self, ten_memories, write_app_memory, scripted, owner
    ):
        deletion = deletions.forget_app_memories(ten_memories[0].app, [ten_memories[0].pk])
        scripted.app_choices.append("delete 1")
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert len(live_app_memories()) == 9
        assert ten_memories[1].content not in live_app_memories()
        assert deletions.undo_deletion(deletion).app_memories == 1
        assert len(live_app_memories()) == 10

    def test_a_chosen_memory_edited_meanwhile_is_not_evicted(self, ten_memories, write_app_memory, scripted):
        def change(turns):
            app_memories.edit_app_memory(ten_memories[3], "In my own words")
            return "delete 4"

        scripted.app_choices.append(change)
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert "In my own words" in live_app_memories()
        assert ten_memories[0].content not in live_app_memories()
        assert len(live_app_memories()) == 10


class TestDatabaseErrors:
    """The database refuses to store the change that the model chose."""

    @pytest.fixture
    def refuse(self, monkeypatch):
        """Return a function that makes the database refuse the first attempts; it returns their choices."""

        def refuse_first(count: int, error: Exception) -> list[Any]:
            real, choices = app_memories.store_app_memory, []

            def store(conversation, text, metadata, choice=None):
                choices.append(choice)
                if len(choices) <= count:
                    raise error
                return real(conversation, text, metadata, choice)

            monkeypatch.setattr(app_memories, "store_app_memory", store)
            return choices

        return refuse_first

    def test_one_error_is_followed_by_a_second_attempt_with_the_same_choice(
        self, ten_memories, write_app_memory, scripted, refuse
    ):
        choices = refuse(1, OperationalError("database is locked"))
        scripted.app_choices.append("delete 4")
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert choices[0] == choices[1]
        assert ten_memories[3].content not in live_app_memories()
        assert ten_memories[0].content in live_app_memories()

    @pytest.mark.parametrize(
        "error", [OperationalError("database is locked"), DataError("value too long"), IntegrityError("no")]
    )
    def test_a_second_error_removes_the_oldest_memory_and_is_recorded(
        self, ten_memories, write_app_memory, scripted, refuse, caplog, error
    ):
        choices = refuse(2, error)
        scripted.app_choices.append("delete 4")
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert choices[2] is None
        assert ten_memories[0].content not in live_app_memories()
        assert {ten_memories[3].content, TENT_MEMORY} <= set(live_app_memories())
        assert len(live_app_memories()) == 10
        assert sorted(AppMemoryEvent.objects.values_list("kind", flat=True)) == ["add", "evict"]
        [line] = [r for r in caplog.records if r.message.startswith("the oldest app memory is removed")]
        assert (line.levelname, line.app, line.conversation) == ("WARNING", str(chat.app_id), str(chat.pk))
        assert not Job.objects.filter(kind="app_memory").exists()

    def test_a_third_error_changes_nothing_and_the_job_is_tried_again(
        self, ten_memories, write_app_memory, scripted, refuse
    ):
        refuse(3, OperationalError("disk I/O error"))
        scripted.app_choices.append("delete 4")
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert sorted(live_app_memories()) == sorted(memory.content for memory in ten_memories)
        assert Job.objects.get(kind="app_memory").attempts == 1

    def test_without_a_choice_a_second_error_fails_the_job(self, write_app_memory, refuse):
        choices = refuse(2, OperationalError("database is locked"))
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert (choices, live_app_memories()) == ([None, None], [])
        assert Job.objects.get(kind="app_memory").attempts == 1


class TestMoving:
    @pytest.fixture
    def work(self, owner):
        return App.objects.create(owner=owner, slug="work", name="Work")

    def test_a_memory_moves_with_its_conversation(self, write_app_memory, work, owner):
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        home = chat.app
        conversations.move_conversation(chat, work)
        assert (live_app_memories(home), live_app_memories(work)) == ([], [TENT_MEMORY])

    def test_a_moved_memory_leaves_the_old_apps_next_prompt(
        self, write_app_memory, add_exchange, work, scripted
    ):
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        other = add_exchange("What else?")
        asked = Message.objects.get(conversation=other, role="user")
        Conversation.objects.filter(pk=other.pk).update(
            memory_block=build_prompt(other, asked, scripted).block.text
        )
        conversations.move_conversation(chat, work)
        other.refresh_from_db()
        assert TENT_MEMORY not in build_prompt(other, asked, scripted).turns[0].content

    def test_moving_into_a_full_app_evicts_the_oldest(self, ten_memories, write_app_memory, work):
        AppMemory.objects.update(app=work)
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        conversations.move_conversation(chat, work)
        assert len(live_app_memories(work)) == 10
        assert TENT_MEMORY in live_app_memories(work)
        assert ten_memories[0].content not in live_app_memories(work)

    def test_moving_into_an_app_with_ten_pending_deletions_is_refused(
        self, ten_memories, write_app_memory, work
    ):
        AppMemory.objects.update(app=work)
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        deletion = deletions.forget_app_memories(work)
        with pytest.raises(app_memories.Refused):
            conversations.move_conversation(chat, work)
        chat.refresh_from_db()
        assert live_app_memories(chat.app) == [TENT_MEMORY]
        deletions.undo_deletion(deletion)
        assert len(live_app_memories(work)) == 10

    def test_moving_an_edited_memory_into_a_full_app_evicts_the_oldest(
        self, ten_memories, write_app_memory, work
    ):
        AppMemory.objects.update(app=work)
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        app_memories.edit_app_memory(AppMemory.objects.get(source_conversation=chat), "In my own words")
        conversations.move_conversation(chat, work)
        assert "In my own words" in live_app_memories(work)
        assert len(live_app_memories(work)) == 10
        assert ten_memories[0].content not in live_app_memories(work)


class TestAbsorbedMemory:
    @pytest.fixture
    def absorbed(self, ten_memories, write_app_memory, scripted):
        """Two conversations: the third memory comes from the first and absorbed the memory of the second."""
        chat = write_app_memory(
            "I plan nine days in the fells with Tom, and I like maps of the fells.", "none."
        )
        own = {"content": "The user plans nine days in the fells.", "source_conversation": chat}
        AppMemory.objects.filter(pk=ten_memories[2].pk).update(**own)
        scripted.app_choices.append("edit 3")
        other = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert other.app_memory_after == 2
        return chat, other

    def test_the_absorbed_text_stays_when_the_memory_is_rewritten(
        self, ten_memories, absorbed, write_app_memory
    ):
        first, other = absorbed
        write_app_memory("We go with Tom in August then.", "The user goes with Tom in August.", first)
        ten_memories[2].refresh_from_db()
        assert TENT_MEMORY in ten_memories[2].content
        assert ten_memories[2].metadata["related_conversations"] == [str(other.pk)]

    def test_an_absorbed_conversation_is_not_summarised_again(self, absorbed, scripted):
        _, other = absorbed
        before = live_app_memories()
        app_memories.queue_app_memory(other)
        run_due({"app_memory"})
        assert live_app_memories() == before

    def test_the_absorbed_text_is_deleted_with_its_conversation(self, ten_memories, absorbed):
        _, other = absorbed
        deletions.delete_conversation(other, with_memories=True)
        assert not any(TENT_MEMORY in content for content in live_app_memories())


class TestEvents:
    """Events record the kinds of changes without any text of the memories, and outlive the memories."""

    @staticmethod
    def event_kinds() -> list[str]:
        return list(AppMemoryEvent.objects.order_by("created_at", "pk").values_list("kind", flat=True))

    def test_a_conversation_that_ends_twice_records_add_and_update(self, write_app_memory):
        chat = write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert self.event_kinds() == ["add"]
        write_app_memory("And a bag for minus five degrees, which ought to weigh little.", TENT_MEMORY, chat)
        assert sorted(self.event_kinds()) == ["add", "update"]

    @pytest.mark.parametrize(
        ("answer", "kinds"),
        [
            ("delete 4", ["add", "evict"]),
            ("edit 3", ["absorb"]),
            (ProviderError("verbatim", sentence="no"), ["add", "evict"]),
        ],
    )
    def test_a_full_app_records_evict_or_absorb(
        self, ten_memories, write_app_memory, scripted, answer, kinds
    ):
        AppMemory.objects.filter(pk=ten_memories[2].pk).update(
            content="The user plans nine days in the fells with Tom. They like maps."
        )
        scripted.app_choices.append(answer)
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        assert sorted(self.event_kinds()) == kinds

    def test_events_outlive_the_memory_and_are_deleted_with_the_app(self, write_app_memory):
        write_app_memory(TENT_MESSAGE, TENT_MEMORY)
        AppMemory.objects.all().delete()
        assert self.event_kinds() == ["add"]
        Conversation.objects.all().delete()
        App.objects.all().delete()
        assert self.event_kinds() == []
