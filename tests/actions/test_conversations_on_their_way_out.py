"""A deleted conversation is out of sight at once and gone after eight seconds, unless that is undone."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from chat.actions import conversations, deletions, events, keeping, looks
from chat.actions.messages import Refused, finish_reply, send_message
from chat.api.sessions import Sessions
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.jobs.runner import run_due
from chat.memory.extract import Candidate, Extraction
from chat.models import Conversation, Deletion, Fact, Job, Message, MessageState, Tombstone
from tests.waiting import until

pytestmark = pytest.mark.django_db


@pytest.fixture
def make(talk):
    """Returns a maker of conversations that were answered."""

    def begin(text: str = "I live in Oslo.") -> Conversation:
        asked, reply = talk(text)
        finish_reply(reply, "Nice.", "complete")
        return asked.conversation

    return begin


@pytest.fixture
def chat(make, clock):
    """A conversation, while the clock stands still."""
    return make()


@pytest.fixture
def learned(chat, make_fact):
    """What was learned in it."""
    return make_fact(
        "User lives in Oslo",
        kind="home",
        source_conversation=chat,
        source_message=Message.objects.get(conversation=chat, seq=1),
    )


@pytest.fixture
def told(monkeypatch):
    """What pages were told."""
    heard: list[dict] = []
    monkeypatch.setattr(events, "send_now", lambda owner, event: heard.append(event))
    return heard


def is_there(chat: Conversation) -> bool:
    return Conversation.objects.filter(pk=chat.pk).exists()


class TestTheEightSeconds:
    """The server keeps the deadline."""

    def test_it_is_out_of_sight_at_once_and_gone_after_eight_seconds(self, chat, clock):
        batch = deletions.delete_conversation(chat)
        assert not Conversation.objects.kept().exists()
        assert batch.expires_at - batch.pressed_at == timedelta(seconds=8)
        assert deletions.finish_overdue(clock(8.9)) == 0
        assert is_there(chat)
        assert deletions.finish_overdue(clock(0.2)) == 1
        assert not is_there(chat)
        assert not Message.objects.exists()
        assert Job.objects.filter(kind="free_caches", payload={"conversations": [str(chat.pk)]}).exists()

    def test_its_job_ends_it_though_no_page_is_open_and_does_so_once(self, chat, clock):
        batch = deletions.delete_conversation(chat)
        assert run_due({"finish_deletion"}) == 0
        clock(9)
        assert run_due({"finish_deletion"}) == 1
        assert not is_there(chat)
        assert deletions.finish(batch.pk, clock(1)) is False

    def test_undo_brings_all_of_it_back(self, chat, clock):
        batch = deletions.delete_conversation(chat)
        clock(8.5)
        undone = deletions.undo(batch)
        assert undone.conversation == chat
        assert deletions.finish_overdue(clock(60)) == 0
        assert Conversation.objects.kept().get().messages.count() == 2

    def test_undo_after_the_deadline_says_that_it_is_too_late(self, chat, clock):
        batch = deletions.delete_conversation(chat)
        clock(9.1)
        with pytest.raises(deletions.TooLate, match="too late"):
            deletions.undo(batch)

    def test_two_in_one_window_do_not_lose_each_other(self, make, clock):
        one, two = make("One"), make("Two")
        first = deletions.delete_conversation(one)
        clock(3)
        deletions.delete_conversation(two)
        deletions.undo(first)
        assert deletions.finish_overdue(clock(20)) == 1
        assert is_there(one)
        assert not is_there(two)

    def test_a_second_press_is_refused_and_leaves_no_batch(self, chat):
        deletions.delete_conversation(chat)
        with pytest.raises(Refused, match="gone already"):
            deletions.delete_conversation(chat)
        assert Deletion.objects.count() == 1

    def test_pages_hear_of_it_and_of_its_return(self, chat, told, clock, django_capture_on_commit_callbacks):
        with django_capture_on_commit_callbacks(execute=True):
            batch = deletions.delete_conversation(chat)
        assert {"type": "rooms", "gone": str(chat.pk)} in told
        with django_capture_on_commit_callbacks(execute=True):
            deletions.undo(batch)
        assert {"type": "rooms"} in told


class TestWhatWasLearned:
    """It stays, unless the user ticks otherwise."""

    def test_it_stays_and_is_from_a_deleted_conversation_at_once(self, chat, learned, ours, clock):
        deletions.delete_conversation(chat)
        assert "from a deleted conversation" in ours.get(f"/memory/{learned.pk}/origin/").content.decode()
        deletions.finish_overdue(clock(10))
        assert Fact.objects.live().get() == learned
        assert not Tombstone.objects.exists()

    def test_with_the_tick_it_goes_with_it_and_comes_back_with_it(self, chat, learned, make_fact, clock):
        other = make_fact("User likes tea")
        batch = deletions.delete_conversation(chat, with_memories=True)
        assert list(Fact.objects.live()) == [other]
        deletions.undo(batch)
        assert set(Fact.objects.live()) == {other, learned}
        assert Conversation.objects.kept().exists()

    def test_with_the_tick_it_is_forgotten_for_good(self, chat, learned, clock):
        deletions.delete_conversation(chat, with_memories=True)
        deletions.finish_overdue(clock(10))
        assert not Fact.objects.exists()
        assert Tombstone.objects.count() == 1
        assert not is_there(chat)

    def test_what_a_look_finds_meanwhile_is_not_kept_and_is_found_again_after_undo(self, chat, clock):
        asked = Message.objects.get(conversation=chat, seq=1)
        found = Candidate(
            "User lives in Oslo", "home", "identity", "", hedged=False, quote="Oslo", language="en"
        )
        batch = deletions.delete_conversation(chat)
        assert looks.record_look(asked, Extraction([found]), [None], "", 0.1) is None
        assert not Fact.objects.exists()
        deletions.undo(batch)
        looks.record_look(asked, Extraction([found]), [None], "", 0.1)
        assert Fact.objects.count() == 1


class TestNothingTouchesItMeanwhile:
    """Whoever lists or goes on with conversations passes it over."""

    def test_it_does_not_exist_at_any_door(self, ours, chat):
        reply = Message.objects.get(conversation=chat, seq=2)
        deletions.delete_conversation(chat)
        for address in (
            *(f"/c/{chat.pk}/", f"/c/{chat.pk}/after/0/", f"/c/{chat.pk}/menu/", f"/c/{chat.pk}/topics/"),
            *(f"/m/{reply.pk}/", f"/m/{reply.pk}/prompt/"),
        ):
            assert ours.get(address).status_code == 404, address
        assert ours.post("/send/", {"text": "Hi", "conversation": chat.pk}).status_code == 404
        assert ours.post(f"/c/{chat.pk}/delete/").status_code == 404

    def test_nothing_is_said_in_it_any_more(self, owner, chat):
        deletions.delete_conversation(chat)
        with pytest.raises(Refused, match="has been deleted"):
            send_message(owner, "Hello", chat)
        assert Message.objects.count() == 2

    def test_it_neither_ends_nor_is_pruned_nor_waits_for_memory(self, owner, chat, clock):
        deletions.delete_conversation(chat)
        assert not Message.objects.backlog(owner).exists()
        assert conversations.end_if_idle(chat.pk, clock(3600)) is None
        assert keeping.prune(owner, timezone.now()) == 0
        assert Conversation.objects.get().ended_at is None

    def test_undo_has_memory_read_what_waits_there(self, chat, clock):
        Job.objects.all().delete()
        batch = deletions.delete_conversation(chat)
        deletions.undo(batch)
        assert {job.kind for job in Job.objects.all()} >= {"extract", "end_idle"}

    def test_a_program_finds_no_such_session(self, owner, clock):
        sessions = Sessions(owner, "")
        deletions.delete_conversation(sessions.resolve("trip"))
        assert sessions.listed(10) == []
        assert sessions.find("trip") is None
        with pytest.raises(ValueError, match="being deleted"):
            sessions.load("trip")
        deletions.finish_overdue(clock(10))
        assert sessions.load("trip") == []


class TestAtTheDoor:
    """Forms and htmx."""

    def test_a_plain_form_leads_to_a_new_chat_with_undo_that_leads_back(self, ours, chat):
        assert ours.post(f"/c/{chat.pk}/delete/").url == "/"
        page = ours.get("/").content.decode()
        assert "Deleted “I live in Oslo.”" in page
        batch = Deletion.objects.get()
        assert ours.post(f"/memory/undo/{batch.pk}/").url == f"/c/{chat.pk}/"
        assert ours.get(f"/c/{chat.pk}/").status_code == 200

    def test_its_own_page_is_led_away_and_another_is_told(self, ours_htmx, chat, make):
        other = make("Another one")
        here = {"hx-current-url": f"http://testserver/c/{chat.pk}/"}
        answer = ours_htmx.post(f"/c/{chat.pk}/delete/", headers=here)
        assert answer["HX-Redirect"] == "/"
        answer = ours_htmx.post(f"/c/{other.pk}/delete/", headers=here)
        assert (answer.status_code, "HX-Redirect" in answer) == (204, False)
        assert "rooms-changed" in answer["HX-Trigger"]
        assert "forgot" in answer["HX-Trigger"]

    def test_the_menu_asks_about_memories_where_there_are_some(self, ours, chat, learned, make_fact):
        page = ours.get(f"/c/{chat.pk}/menu/").content.decode()
        assert "also forget 1 memory learned here" in page
        ours.post(f"/c/{chat.pk}/delete/", {"memories": "1"})
        assert not Fact.objects.live().exists()
        assert "Deleted “I live in Oslo.” and 1 memory" in ours.get("/").content.decode()

    def test_undo_through_htmx_after_the_deadline_says_so(self, ours_htmx, chat, clock):
        batch = deletions.delete_conversation(chat)
        clock(10)
        answer = ours_htmx.post(f"/memory/undo/{batch.pk}/")
        assert (answer.status_code, "too late" in answer.content.decode()) == (409, True)


@pytest.mark.django_db(transaction=True)
def test_a_reply_that_is_being_written_is_stopped_first(ours, talk, scripted):
    scripted.gate = threading.Semaphore(0)
    scripted.replies.append("One two three four")
    _, reply = talk("Count, please.")
    generation.start(reply)
    scripted.gate.release(2)
    until(lambda: "two" in str(hub.snapshot(str(reply.conversation_id))))
    threading.Timer(0.2, scripted.gate.release, args=(99,)).start()
    ours.post(f"/c/{reply.conversation_id}/delete/")
    assert generation.running() == 0
    reply.refresh_from_db()
    assert reply.state == MessageState.STOPPED
