"""Ten memories an app: what makes way for the eleventh, what absorbs it, and what moves along."""

from __future__ import annotations

import pytest

from chat.actions import app_memories, deletions, rooms
from chat.context.prompt import build
from chat.jobs.runner import run_due
from chat.llm.types import ProviderError
from chat.models import App, AppMemory, AppMemoryEvent, Conversation, Message

from .remembering import NOTE, TENT, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("at_once")]


class TestTheEleventh:
    def test_the_one_that_the_model_names_makes_way(self, full, remember, scripted):
        scripted.app_choices.append("delete 4")
        remember(TENT, NOTE)
        assert len(told()) == 10
        assert full[3].content not in told()
        assert told()[0] == NOTE
        asked = next(call for call in scripted.calls if call.slot == "app_choice")
        assert f"4. {full[3].content}" in asked.turns[-1].content
        assert asked.turns[-1].content.endswith(f"New: {NOTE}")

    def test_one_absorbs_it_where_the_model_says_so(self, full, remember, scripted):
        AppMemory.objects.filter(pk=full[2].pk).update(
            content="The user plans nine days in the fells with Tom. They like maps."
        )
        scripted.app_choices.append("edit 3")
        chat = remember(TENT, NOTE)
        assert len(told()) == 10
        full[2].refresh_from_db()
        assert full[2].content == f"The user plans nine days in the fells with Tom. {NOTE} They like maps."
        assert full[2].metadata["related_conversations"] == [str(chat.pk)]

    @pytest.mark.parametrize("answer", ["none", "delete 11", "edit 3", "edit 12", ProviderError("no")])
    def test_an_answer_that_cannot_be_carried_out_lets_the_oldest_go(self, full, remember, scripted, answer):
        scripted.app_choices.append(answer)
        remember(TENT, NOTE)
        assert len(told()) == 10
        assert full[0].content not in told()
        assert NOTE in told()

    def test_one_about_the_same_gives_its_place_without_a_model(self, full, remember, scripted):
        AppMemory.objects.filter(pk=full[5].pk).update(
            content="The user needs a tent for nine days in the fells."
        )
        remember(TENT, NOTE)
        full[5].refresh_from_db()
        assert full[5].content == NOTE
        assert not any(call.slot == "app_choice" for call in scripted.calls)

    def test_what_the_owner_wrote_goes_last(self, full, remember, scripted):
        AppMemory.objects.filter(pk=full[0].pk).update(edited=True)
        remember(TENT, NOTE)
        assert full[0].content in told()
        assert full[1].content not in told()

    def test_one_on_its_way_out_keeps_its_place(self, full, remember, scripted, owner):
        deletion = deletions.forget_app_memories(full[0].app, [full[0].pk])
        scripted.app_choices.append("delete 1")
        remember(TENT, NOTE)
        assert len(told()) == 9
        assert full[1].content not in told()
        assert deletions.undo(deletion).app_memories == 1
        assert len(told()) == 10

    def test_a_choice_that_has_changed_meanwhile_is_not_carried_out(self, full, remember, scripted):
        def change(turns):
            app_memories.edit(full[3], "In my own words")
            return "delete 4"

        scripted.app_choices.append(change)
        remember(TENT, NOTE)
        assert "In my own words" in told()
        assert full[0].content not in told()
        assert len(told()) == 10


class TestMoving:
    @pytest.fixture
    def work(self, owner):
        return App.objects.create(owner=owner, slug="work", name="Work")

    def test_what_is_remembered_goes_with_its_conversation(self, remember, work, owner):
        chat = remember(TENT, NOTE)
        home = chat.app
        rooms.move(chat, work)
        assert (told(home), told(work)) == ([], [NOTE])

    def test_the_old_app_is_told_no_more_in_the_very_next_prompt(self, remember, say, work, scripted):
        chat = remember(TENT, NOTE)
        other = say("What else?")
        asked = Message.objects.get(conversation=other, role="user")
        Conversation.objects.filter(pk=other.pk).update(memory_block=build(other, asked, scripted).block.text)
        rooms.move(chat, work)
        other.refresh_from_db()
        assert NOTE not in build(other, asked, scripted).turns[0].content

    def test_in_a_full_app_the_oldest_makes_way(self, full, remember, work):
        AppMemory.objects.update(app=work)
        chat = remember(TENT, NOTE)
        rooms.move(chat, work)
        assert len(told(work)) == 10
        assert NOTE in told(work)
        assert full[0].content not in told(work)

    def test_into_an_app_that_forgets_all_ten_it_is_refused_and_nothing_changes(self, full, remember, work):
        AppMemory.objects.update(app=work)
        chat = remember(TENT, NOTE)
        deletion = deletions.forget_app_memories(work)
        with pytest.raises(app_memories.Refused):
            rooms.move(chat, work)
        chat.refresh_from_db()
        assert told(chat.app) == [NOTE]
        deletions.undo(deletion)
        assert len(told(work)) == 10

    def test_in_a_full_app_the_owners_words_take_the_place_of_the_oldest(self, full, remember, work):
        AppMemory.objects.update(app=work)
        chat = remember(TENT, NOTE)
        app_memories.edit(AppMemory.objects.get(source_conversation=chat), "In my own words")
        rooms.move(chat, work)
        assert "In my own words" in told(work)
        assert len(told(work)) == 10
        assert full[0].content not in told(work)


class TestWhatWasAbsorbed:
    @pytest.fixture
    def absorbed(self, full, remember, scripted):
        """A conversation that the third memory has absorbed."""
        chat = remember("I plan nine days in the fells with Tom, and I like maps of the fells.", "none.")
        own = {"content": "The user plans nine days in the fells.", "source_conversation": chat}
        AppMemory.objects.filter(pk=full[2].pk).update(**own)
        scripted.app_choices.append("edit 3")
        other = remember(TENT, NOTE)
        assert other.app_memory_after == 2
        return chat, other

    def test_it_stays_told_when_the_memory_is_written_anew(self, full, absorbed, remember):
        first, other = absorbed
        remember("We go with Tom in August then.", "The user goes with Tom in August.", first)
        full[2].refresh_from_db()
        assert NOTE in full[2].content
        assert full[2].metadata["related_conversations"] == [str(other.pk)]

    def test_it_is_not_told_a_second_time(self, absorbed, scripted):
        _, other = absorbed
        before = told()
        app_memories.ask_for(other)
        run_due({"app_memory"})
        assert told() == before

    def test_it_goes_with_its_conversation_where_that_is_asked_for(self, full, absorbed):
        _, other = absorbed
        deletions.delete_conversation(other, with_memories=True)
        assert not any(NOTE in content for content in told())


class TestWhatIsCounted:
    """What happened is kept without a word of what the memories say, also where they are gone."""

    @staticmethod
    def happened() -> list[str]:
        return list(AppMemoryEvent.objects.order_by("created_at", "pk").values_list("kind", flat=True))

    def test_a_conversation_that_ends_twice_is_written_once_and_then_anew(self, remember):
        chat = remember(TENT, NOTE)
        assert self.happened() == ["add"]
        remember("And a bag for minus five degrees, which ought to weigh little.", NOTE, chat)
        assert sorted(self.happened()) == ["add", "update"]

    @pytest.mark.parametrize(
        ("answer", "kinds"),
        [("delete 4", ["add", "evict"]), ("edit 3", ["absorb"]), (ProviderError("no"), ["add", "evict"])],
    )
    def test_an_app_that_is_full_is_made_less(self, full, remember, scripted, answer, kinds):
        AppMemory.objects.filter(pk=full[2].pk).update(
            content="The user plans nine days in the fells with Tom. They like maps."
        )
        scripted.app_choices.append(answer)
        remember(TENT, NOTE)
        assert sorted(self.happened()) == kinds

    def test_it_outlives_the_memory_and_goes_with_the_app(self, remember):
        remember(TENT, NOTE)
        AppMemory.objects.all().delete()
        assert self.happened() == ["add"]
        Conversation.objects.all().delete()
        App.objects.all().delete()
        assert self.happened() == []
