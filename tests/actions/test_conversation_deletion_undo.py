"""A deleted conversation is hidden immediately and deleted after eight seconds, unless the user undoes it."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from chat.actions import conversations, deletions, erasure, events, extraction
from chat.actions.messages import finish_reply, send_message
from chat.api.sessions import Sessions
from chat.errors import Refused, TooLateToUndo
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.jobs.runner import run_due
from chat.memory.candidates import Extraction, FactCandidate
from chat.models import Conversation, Deletion, Fact, Job, Message, MessageState, Tombstone
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture
def make_chat(talk):
    """Return a function that creates a conversation with one complete exchange."""

    def begin(text: str = "I live in Oslo.") -> Conversation:
        asked, reply = talk(text)
        finish_reply(reply, "Nice.", "complete")
        return asked.conversation

    return begin


@pytest.fixture
def chat(make_chat, clock):
    """A conversation with one complete exchange; the clock fixture freezes the time."""
    return make_chat()


@pytest.fixture
def learned_fact(chat, make_fact):
    """A fact learned in the conversation."""
    return make_fact(
        "User lives in Oslo",
        kind="home",
        source_conversation=chat,
        source_message=Message.objects.get(conversation=chat, seq=1),
    )


@pytest.fixture
def sent_events(monkeypatch):
    """The events sent to the owner's pages."""
    events_sent: list[dict[str, Any]] = []
    monkeypatch.setattr(events, "send_now", lambda owner, event: events_sent.append(event))
    return events_sent


def is_stored(chat: Conversation) -> bool:
    return Conversation.objects.filter(pk=chat.pk).exists()


class TestUndoWindow:
    """The server enforces the deadline of eight seconds and one second of grace."""

    def test_the_conversation_is_hidden_immediately_and_deleted_after_the_window(self, chat, clock):
        batch = deletions.delete_conversation(chat)
        assert not Conversation.objects.not_deleted().exists()
        assert batch.expires_at - batch.pressed_at == timedelta(seconds=8)
        assert deletions.finish_overdue_deletions(clock(8.9)) == 0
        assert is_stored(chat)
        assert deletions.finish_overdue_deletions(clock(0.2)) == 1
        assert not is_stored(chat)
        assert not Message.objects.exists()
        assert Job.objects.filter(kind="free_caches", payload={"conversations": [str(chat.pk)]}).exists()

    def test_the_job_finishes_the_deletion_once(self, chat, clock):
        batch = deletions.delete_conversation(chat)
        assert run_due({"finish_deletion"}) == 0
        clock(9)
        assert run_due({"finish_deletion"}) == 1
        assert not is_stored(chat)
        assert deletions.finish_deletion(batch.pk, clock(1)) is False

    def test_undo_restores_the_conversation_and_its_messages(self, chat, clock):
        batch = deletions.delete_conversation(chat)
        clock(8.5)
        undone = deletions.undo_deletion(batch)
        assert undone.conversation == chat
        assert deletions.finish_overdue_deletions(clock(60)) == 0
        assert Conversation.objects.not_deleted().get().messages.count() == 2

    def test_undo_after_the_deadline_says_that_it_is_too_late(self, chat, clock):
        batch = deletions.delete_conversation(chat)
        clock(9.1)
        with pytest.raises(TooLateToUndo, match="too late"):
            deletions.undo_deletion(batch)

    def test_two_deletions_in_one_window_are_independent(self, make_chat, clock):
        one, two = make_chat("One"), make_chat("Two")
        first = deletions.delete_conversation(one)
        clock(3)
        deletions.delete_conversation(two)
        deletions.undo_deletion(first)
        assert deletions.finish_overdue_deletions(clock(20)) == 1
        assert is_stored(one)
        assert not is_stored(two)

    def test_deleting_twice_is_refused_and_creates_one_deletion(self, chat):
        deletions.delete_conversation(chat)
        with pytest.raises(Refused, match="already been deleted"):
            deletions.delete_conversation(chat)
        assert Deletion.objects.count() == 1

    def test_pages_receive_an_event_for_the_deletion_and_the_undo(
        self, chat, sent_events, clock, django_capture_on_commit_callbacks
    ):
        with django_capture_on_commit_callbacks(execute=True):
            batch = deletions.delete_conversation(chat)
        assert {"type": "conversations", "gone": str(chat.pk)} in sent_events
        with django_capture_on_commit_callbacks(execute=True):
            deletions.undo_deletion(batch)
        assert {"type": "conversations"} in sent_events


class TestLearnedFacts:
    """Facts learned in a deleted conversation stay, unless the user chooses to delete them too."""

    def test_the_fact_stays_and_its_origin_names_a_deleted_conversation(
        self, chat, learned_fact, ours, clock
    ):
        deletions.delete_conversation(chat)
        assert (
            "from a deleted conversation" in ours.get(f"/memory/{learned_fact.pk}/origin/").content.decode()
        )
        deletions.finish_overdue_deletions(clock(10))
        assert Fact.objects.live().get() == learned_fact
        assert not Tombstone.objects.exists()

    def test_with_memories_the_fact_is_deleted_and_restored_with_the_conversation(
        self, chat, learned_fact, make_fact, clock
    ):
        other = make_fact("User likes tea")
        batch = deletions.delete_conversation(chat, with_memories=True)
        assert list(Fact.objects.live()) == [other]
        deletions.undo_deletion(batch)
        assert set(Fact.objects.live()) == {other, learned_fact}
        assert Conversation.objects.not_deleted().exists()

    def test_with_memories_the_fact_is_deleted_permanently(self, chat, learned_fact, clock):
        deletions.delete_conversation(chat, with_memories=True)
        deletions.finish_overdue_deletions(clock(10))
        assert not Fact.objects.exists()
        assert Tombstone.objects.exists()
        assert not is_stored(chat)

    def test_extraction_stores_nothing_while_deletion_is_pending(self, chat, clock):
        asked = Message.objects.get(conversation=chat, seq=1)
        found = FactCandidate(
            "User lives in Oslo", "home", "identity", "", hedged=False, quote="Oslo", language="en"
        )
        batch = deletions.delete_conversation(chat)
        assert extraction.record_extraction(asked, Extraction([found]), [None], "", 0.1) is None
        assert not Fact.objects.exists()
        deletions.undo_deletion(batch)
        extraction.record_extraction(asked, Extraction([found]), [None], "", 0.1)
        assert Fact.objects.count() == 1


class TestPendingConversationIsUnreachable:
    """Pages, replies, jobs and sessions skip a conversation that is pending deletion."""

    def test_pages_of_a_pending_conversation_respond_404(self, ours, chat):
        reply = Message.objects.get(conversation=chat, seq=2)
        deletions.delete_conversation(chat)
        for address in (
            *(f"/c/{chat.pk}/", f"/c/{chat.pk}/after/0/", f"/c/{chat.pk}/menu/", f"/c/{chat.pk}/topics/"),
            *(f"/m/{reply.pk}/", f"/m/{reply.pk}/prompt/"),
        ):
            assert ours.get(address).status_code == 404, address
        assert ours.post("/send/", {"text": "Hi", "conversation": chat.pk}).status_code == 404
        assert ours.post(f"/c/{chat.pk}/delete/").status_code == 404

    def test_sending_a_message_to_a_pending_conversation_is_refused(self, owner, chat):
        deletions.delete_conversation(chat)
        with pytest.raises(Refused, match="has been deleted"):
            send_message(owner, "Hello", chat)
        assert Message.objects.count() == 2

    def test_a_pending_conversation_is_not_ended_pruned_or_extracted(self, owner, chat, clock):
        deletions.delete_conversation(chat)
        assert not Message.objects.backlog(owner).exists()
        assert conversations.end_if_idle(chat.pk, clock(3600)) is None
        assert erasure.prune_conversations(owner, timezone.now()) == 0
        assert Conversation.objects.get().ended_at is None

    def test_undo_queues_extraction_again(self, chat, clock):
        Job.objects.all().delete()
        batch = deletions.delete_conversation(chat)
        deletions.undo_deletion(batch)
        assert {job.kind for job in Job.objects.all()} >= {"extract", "end_idle"}

    def test_a_session_pending_deletion_is_not_found(self, owner, clock):
        sessions = Sessions(owner, "")
        deletions.delete_conversation(sessions.resolve("trip"))
        assert sessions.list_recent(10) == []
        assert sessions.find("trip") is None
        with pytest.raises(ValueError, match="being deleted"):
            sessions.load("trip")
        deletions.finish_overdue_deletions(clock(10))
        assert sessions.load("trip") == []


class TestDeletionRequests:
    """Deletion and undo through plain forms and through htmx."""

    def test_a_plain_form_redirects_to_the_start_page_and_undo_redirects_back(self, ours, chat):
        assert ours.post(f"/c/{chat.pk}/delete/").url == "/"
        page = ours.get("/").content.decode()
        assert "Deleted “I live in Oslo.”" in page
        batch = Deletion.objects.get()
        assert ours.post(f"/memory/undo/{batch.pk}/").url == f"/c/{chat.pk}/"
        assert ours.get(f"/c/{chat.pk}/").status_code == 200

    def test_htmx_redirects_the_deleted_page_and_notifies_other_pages(self, ours_htmx, chat, make_chat):
        other = make_chat("Another one")
        here = {"hx-current-url": f"http://testserver/c/{chat.pk}/"}
        answer = ours_htmx.post(f"/c/{chat.pk}/delete/", headers=here)
        assert answer["HX-Redirect"] == "/"
        answer = ours_htmx.post(f"/c/{other.pk}/delete/", headers=here)
        assert (answer.status_code, "HX-Redirect" in answer) == (204, False)
        assert "conversations-changed" in answer["HX-Trigger"]
        assert "forgot" in answer["HX-Trigger"]

    def test_the_menu_offers_to_delete_learned_memories_too(self, ours, chat, learned_fact, make_fact):
        page = ours.get(f"/c/{chat.pk}/menu/").content.decode()
        assert "also forget 1 memory learned here" in page
        ours.post(f"/c/{chat.pk}/delete/", {"memories": "1"})
        assert not Fact.objects.live().exists()
        assert "Deleted “I live in Oslo.” and 1 memory" in ours.get("/").content.decode()

    def test_late_undo_through_htmx_responds_409(self, ours_htmx, chat, clock):
        batch = deletions.delete_conversation(chat)
        clock(10)
        answer = ours_htmx.post(f"/memory/undo/{batch.pk}/")
        assert (answer.status_code, "too late" in answer.content.decode()) == (409, True)


@pytest.mark.django_db(transaction=True)
def test_a_running_reply_is_stopped_before_the_deletion(ours, talk, scripted):
    scripted.gate = threading.Semaphore(0)
    scripted.replies.append("One two three four")
    _, reply = talk("Count, please.")
    generation.start(reply)
    scripted.gate.release(2)
    wait_until(lambda: "two" in str(hub.snapshot(str(reply.conversation_id))))
    threading.Timer(0.2, scripted.gate.release, args=(99,)).start()
    ours.post(f"/c/{reply.conversation_id}/delete/")
    assert generation.count_running() == 0
    reply.refresh_from_db()
    assert reply.state == MessageState.STOPPED
