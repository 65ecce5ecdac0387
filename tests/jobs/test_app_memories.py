"""A conversation that ends is remembered by its app: seed 003's scenarios, and what may go wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from chat.actions import app_memories, conversations, deletions, prompts, rooms
from chat.actions.branches import clear, flag
from chat.context.prompt import build
from chat.generation import run as generation
from chat.jobs.runner import run_due
from chat.llm.types import ProviderError, Unfinished
from chat.models import App, AppMemory, Conversation, Job, Message, UsageRecord

pytestmark = pytest.mark.django_db

TENT = "I need a tent for two for nine days in the fells in August, my brother Tom freezes."
NOTE = "The user needs a tent for two for nine days in the fells in August."


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Nothing waits for its time."""
    monkeypatch.setattr(app_memories, "_AFTER_END", timedelta())


@pytest.fixture
def remember(say, scripted):
    """Returns a teller of conversations that end and are remembered."""

    def tell(text: str, note: str, chat: Conversation | None = None) -> Conversation:
        chat = say(text, chat)
        conversations.end(chat)
        Job.objects.filter(kind="extract").delete()
        scripted.app_memories.append(note)
        run_due({"app_memory"})
        chat.refresh_from_db()
        return chat

    return tell


def told(app: App | None = None) -> list[str]:
    """Return what is remembered, the newest first."""
    rows = AppMemory.objects.live()
    return [m.content for m in (rows.filter(app=app) if app else rows)]


def test_a_memory_is_written_when_a_conversation_ends(remember, scripted):
    chat = remember(TENT, NOTE)
    memory = AppMemory.objects.get()
    assert (memory.content, memory.app, memory.source_conversation) == (NOTE, chat.app, chat)
    assert memory.metadata["through"] == 2
    assert memory.metadata["tags"] == ["needs", "tent", "nine"] or "tent" in memory.metadata["tags"]
    assert 0 <= memory.metadata["importance"] <= 10
    assert UsageRecord.objects.get(purpose="app_memory").lane == "background"
    assert TENT in scripted.calls[-1].turns[-1].content


def test_the_next_conversation_of_the_app_is_told_of_it_in_the_seeds_words(remember, say, scripted):
    remember(TENT, NOTE)
    chat = say("What else should we take along?")
    asked = Message.objects.get(conversation=chat, role="user")
    system = build(chat, asked, scripted).turns[0].content
    today = timezone.now().strftime("%Y-%m-%d")
    assert (
        "(memories for app: General)\n"
        "The following are memories from previous conversations with this app:\n\n"
        f"1. [Created: {today}] {NOTE}\n\n"
        "Use these memories to provide context-aware responses."
    ) in system


def test_no_app_is_told_what_another_remembers_but_core_facts_go_everywhere(
    remember, owner, talk, make_fact, scripted
):
    remember(TENT, NOTE)
    make_fact("User wants answers in French", kind="reply_language")
    work = App.objects.create(owner=owner, slug="work", name="Work")
    asked, _ = talk("What is next?")
    Conversation.objects.filter(pk=asked.conversation_id).update(app=work)
    asked.refresh_from_db()
    prompt = build(Conversation.objects.get(pk=asked.conversation_id), asked, scripted)
    whole = "\n".join(turn.content for turn in prompt.turns)
    assert "answers in French" in whole
    assert "fells" not in whole
    assert "memories for app" not in whole


def test_a_conversation_is_not_told_what_is_remembered_of_itself(remember, say, scripted):
    chat = remember(TENT, NOTE)
    say("And mats?", chat)
    asked = Message.objects.filter(conversation=chat, role="user").last()
    assert NOTE not in build(Conversation.objects.get(pk=chat.pk), asked, scripted).turns[0].content


def test_the_next_end_writes_its_one_memory_anew(remember):
    chat = remember(TENT, NOTE)
    remember("We took the Fjell 2, in green.", "The user took the Fjell 2 for the fells.", chat)
    assert told() == ["The user took the Fjell 2 for the fells."]
    assert AppMemory.objects.get().metadata["through"] == 4


def test_an_end_without_anything_new_asks_no_model(remember, scripted):
    chat = remember(TENT, NOTE)
    calls = len(scripted.calls)
    Conversation.objects.filter(pk=chat.pk).update(ended_at=None)
    conversations.end(chat)
    run_due({"app_memory"})
    assert len(scripted.calls) == calls


@pytest.mark.parametrize("mode", ["read_only", "off"])
def test_where_memory_is_not_on_nothing_is_written(say, scripted, mode):
    chat = say(TENT)
    conversations.set_memory_mode(chat, mode)
    chat.refresh_from_db()
    conversations.end(chat)
    assert not Job.objects.filter(kind="app_memory").exists()


def test_small_talk_is_not_remembered(remember, scripted):
    remember("Hi there, thanks!", "The user said hi.")
    assert told() == []
    assert not any(call.slot == "app_memory" for call in scripted.calls)


def test_what_was_not_said_is_not_remembered(remember):
    remember(TENT, "The user bought a boat in Valencia for 4711 euros.")
    assert told() == []


def test_secrets_stay_out(remember):
    remember(f"{TENT} My password is hunter2-Rope!", "The user's password is hunter2-Rope! " + NOTE)
    assert told() == [NOTE]


def test_a_long_note_keeps_whole_sentences_up_to_200_characters(remember):
    long = " ".join(
        [NOTE, "Their brother Tom freezes in the fells in August for nine days and nine days.", NOTE]
    )
    remember(TENT, long)
    assert told() == [long[: long.index(" " + NOTE)]]


def test_a_model_that_fails_leaves_everything_as_it_is(say, scripted):
    chat = say(TENT)
    conversations.end(chat)
    Job.objects.filter(kind="extract").delete()
    scripted.app_memories.append(ProviderError("away"))
    assert run_due({"app_memory"}) == 1
    assert told() == []
    assert not Job.objects.filter(kind="app_memory").exists()
    chat.refresh_from_db()
    assert chat.ended_at is not None


@pytest.mark.parametrize(("worked", "left"), [(2.0, 1), (29.0, 0)], ids=["kept from it", "its time was up"])
def test_a_call_that_is_stopped_is_tried_again_where_the_model_worked_for_others(say, scripted, worked, left):
    chat = say(TENT)
    conversations.end(chat)
    Job.objects.filter(kind="extract").delete()
    scripted.app_memories.append(Unfinished(worked))
    run_due({"app_memory"})
    assert told() == []
    assert Job.objects.filter(kind="app_memory", attempts=0).count() == left


def test_a_locked_database_is_tried_once_more(remember, monkeypatch):
    real, tries = app_memories.store, []

    def store(*args):
        tries.append(args)
        if len(tries) == 1:
            raise OperationalError("database is locked")
        return real(*args)

    monkeypatch.setattr(app_memories, "store", store)
    remember(TENT, NOTE)
    assert (told(), len(tries)) == ([NOTE], 2)


def test_it_waits_while_a_reply_is_written_and_while_memory_looks(say, scripted, monkeypatch):
    chat = say(TENT)
    conversations.end(chat)
    scripted.app_memories.append(NOTE)
    run_due({"app_memory"})
    assert told() == []
    Job.objects.filter(kind="extract").delete()
    monkeypatch.setattr(generation, "running", lambda: 1)
    Job.objects.update(run_after=timezone.now())
    run_due({"app_memory"})
    assert told() == []
    monkeypatch.undo()
    Job.objects.update(run_after=timezone.now())
    run_due({"app_memory"})
    assert told() == [NOTE]


def test_a_conversation_that_goes_on_meanwhile_is_not_stored(say, scripted):
    chat = say(TENT)
    conversations.end(chat)
    Job.objects.filter(kind="extract").delete()

    def go_on(turns):
        say("One more thing about the tent", Conversation.objects.get(pk=chat.pk))
        return NOTE

    scripted.app_memories.append(go_on)
    run_due({"app_memory"})
    assert told() == []


@pytest.fixture
def full(owner, say):
    """Ten memories of ten conversations, the oldest the first."""
    app = say("Begin").app
    return [
        AppMemory.objects.create(
            owner=owner,
            app=app,
            content=f"The user asked about subject{n} word{n}.",
            updated_at=timezone.now() - timedelta(days=20 - n),
        )
        for n in range(10)
    ]


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


def test_one_that_was_written_for_an_earlier_branch_is_written_again(say, scripted):
    chat = say(TENT)
    conversations.end(chat)
    Job.objects.filter(kind="extract").delete()

    def change(turns):
        Conversation.objects.filter(pk=chat.pk).update(branch=7)
        return NOTE

    scripted.app_memories.append(change)
    run_due({"app_memory"})
    assert told() == []
    Job.objects.update(run_after=timezone.now())
    scripted.app_memories.append(NOTE)
    run_due({"app_memory"})
    assert told() == [NOTE]


def test_a_block_of_an_app_that_was_left_meanwhile_is_not_kept(remember, say, scripted, owner):
    remember(TENT, NOTE)
    chat = say("What else?")
    asked, answer = Message.objects.filter(conversation=chat)
    prompt = build(chat, asked, scripted)
    rooms.move(chat, App.objects.create(owner=owner, slug="work", name="Work"))
    prompts.record_prompt(chat, asked, answer, prompt, 8192)
    chat.refresh_from_db()
    assert chat.memory_block is None


def test_everything_is_deleted_with_a_thousand_memories_too(owner, say):
    app = say("Begin").app
    AppMemory.objects.bulk_create(
        AppMemory(owner=owner, app=app, content=f"The user said thing {n}.") for n in range(1001)
    )
    deletion = deletions.erase_all(owner)
    assert told() == []
    deletions.undo(deletion)
    assert len(told()) == 1001


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


def test_what_the_user_marked_makes_it_matter_more(remember, say):
    chat = say(TENT)
    flag(Message.objects.get(conversation=chat, role="user"), True)
    remember("And mats for the nights in the fells.", NOTE, Conversation.objects.get(pk=chat.pk))
    assert AppMemory.objects.get().metadata["importance"] >= 3
