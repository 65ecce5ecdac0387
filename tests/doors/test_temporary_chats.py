"""A temporary chat has no memory, is not listed, and is deleted when its page is closed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from chat.actions import conversation_jobs, conversations, erasure
from chat.actions.messages import finish_reply, send_message
from chat.api.sessions import Sessions
from chat.errors import Refused
from chat.generation.hub import Watcher, hub
from chat.jobs.runner import run_due
from chat.models import Conversation, Job, MemoryMode, Message

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(owner, clock):
    """A temporary chat with one exchange, with frozen time."""
    asked, reply = send_message(owner, "I live in Oslo and like jazz.", temporary=True)
    finish_reply(Message.objects.get(pk=reply.pk), "Nice.", "complete")
    return asked.conversation


@pytest.fixture
def watched(chat):
    """A watcher, as if the page of the chat were open."""
    watcher = Watcher(None)
    hub.watch(str(chat.pk), watcher)
    return watcher


def conversation_exists() -> bool:
    return Conversation.objects.exists()


class TestNoMemory:
    """No message of a temporary chat is ever extracted."""

    def test_neither_extraction_nor_a_title_is_queued(self, owner, chat):
        assert chat.memory_mode == MemoryMode.OFF
        assert not Job.objects.filter(kind__in=("extract", "title")).exists()
        assert not Message.objects.backlog(owner).exists()
        assert not Message.objects.not_extracted(Conversation.objects.get()).exists()

    def test_memory_stays_off(self, ours, ours_htmx, chat):
        with pytest.raises(Refused, match="stays off"):
            conversations.set_memory_mode(chat, "on")
        assert ours_htmx.post(f"/c/{chat.pk}/memory/", {"mode": "on"}).status_code == 422
        page = ours.get(f"/c/{chat.pk}/").content.decode()
        assert 'name="mode"' not in page
        assert "Memory is off in a temporary chat." in page


class TestNotListed:
    """A temporary chat is reachable only at its own page."""

    def test_neither_the_list_nor_the_api_shows_it(self, ours, owner, chat):
        assert "I live in Oslo" not in ours.get("/").content.decode()
        assert Sessions(owner, "").list_recent(10) == []

    def test_it_has_no_name_and_no_menu(self, ours, chat):
        page = ours.get(f"/c/{chat.pk}/").content.decode()
        assert "<title>Temporary chat · memoryapp</title>" in page
        assert f"/c/{chat.pk}/menu/" not in page
        for door in ("rename", "pin", "delete"):
            assert ours.post(f"/c/{chat.pk}/{door}/", {"title": "Oslo"}).status_code == 404


class TestDeletion:
    """When its page is closed, the chat is deleted together with the model's caches of it."""

    def test_it_is_deleted_twenty_seconds_after_its_last_page_was_closed(self, chat, clock):
        conversations.schedule_end_after_close(chat.pk)
        clock(19)
        assert run_due({"discard"}) == 0
        clock(2)
        assert run_due({"discard"}) == 1
        assert not conversation_exists()
        assert Job.objects.filter(kind="free_caches", payload={"conversations": [str(chat.pk)]}).exists()
        assert not Job.objects.filter(kind="end_idle").exists()

    def test_a_page_that_opens_again_keeps_it(self, chat, watched, clock):
        conversations.schedule_end_after_close(chat.pk)
        clock(30)
        run_due({"discard"})
        assert conversation_exists()
        hub.unwatch(str(chat.pk), watched)
        conversations.schedule_end_after_close(chat.pk)
        clock(30)
        run_due({"discard"})
        assert not conversation_exists()

    def test_a_chat_open_at_its_deadline_is_deleted_after_its_page_is_closed(self, chat, watched, clock):
        conversations.schedule_end_after_close(chat.pk)
        clock(30)
        run_due({"discard"})
        hub.unwatch(str(chat.pk), watched)
        clock(599)
        run_due({"discard"})
        assert conversation_exists()
        clock(2)
        run_due({"discard"})
        assert not conversation_exists()
        assert not Job.objects.filter(kind="discard").exists()

    def test_a_reload_starts_the_time_again(self, chat, clock):
        conversations.schedule_end_after_close(chat.pk)
        clock(19)
        conversations.schedule_end_after_close(chat.pk)
        clock(10)
        run_due({"discard"})
        assert conversation_exists()

    def test_a_page_that_lives_on_polling_keeps_it_until_it_is_closed(self, ours, chat, clock):
        conversations.postpone_ends_at_start(clock(0))
        for _ in range(80):
            ours.get(f"/poll/?conversation={chat.pk}")
            clock(15)
            run_due({"discard", "end_idle"})
            assert conversation_exists()
        clock(76)
        run_due({"discard", "end_idle"})
        assert not conversation_exists()

    def test_polling_writes_every_ten_seconds_at_most(self, ours, chat, clock):
        def poll() -> tuple[int, ...]:
            ours.get(f"/poll/?conversation={chat.pk}")
            return tuple(Job.objects.order_by("kind").values_list("requests", flat=True))

        first = poll()
        clock(9)
        assert poll() == first
        clock(2)
        assert poll() != first

    def test_a_kept_chat_is_not_discarded(self, chat, watched):
        conversation_jobs.schedule_discard(chat.pk, timezone.now())
        conversations.keep_temporary(chat)
        run_due({"discard"})
        assert not Job.objects.filter(kind="discard").exists()

    def test_a_start_of_the_process_discards_chats_without_an_open_page(self, chat, talk, clock):
        kept, _ = talk("Hello")
        conversations.postpone_ends_at_start(clock(0))
        clock(21)
        run_due({"discard"})
        assert Conversation.objects.get() == kept.conversation

    def test_a_chat_whose_page_never_opened_is_deleted_after_ten_minutes(self, chat, clock):
        assert conversations.end_if_idle(chat.pk, clock(60)) is not None
        assert conversation_exists()
        assert conversations.end_if_idle(chat.pk, clock(600)) is None
        assert not conversation_exists()

    def test_end_deletes_it_and_leads_to_a_new_chat(self, ours, ours_htmx, chat):
        assert ours_htmx.post(f"/c/{chat.pk}/end/")["HX-Redirect"] == "/"
        assert not conversation_exists()
        assert ours.post(f"/c/{chat.pk}/end/").status_code == 404

    def test_other_conversations_are_never_discarded(self, talk, clock):
        asked, _ = talk("Hello")
        assert erasure.discard_temporary(asked.conversation_id) is False
        assert conversation_exists()


class TestBeginning:
    """The page of an empty temporary chat says what it is."""

    def test_the_first_message_of_a_temporary_page_creates_a_temporary_chat(self, ours, scripted):
        page = ours.get("/?temporary=1").content.decode()
        assert "Memory is off. This chat is deleted when you close it." in page
        assert 'name="temporary" value="1"' in page
        ours.post("/send/", {"text": "Hello", "temporary": "1"})
        assert Conversation.objects.get().temporary

    def test_other_pages_create_no_temporary_chat(self, ours, scripted):
        assert 'name="temporary"' not in ours.get("/").content.decode()
        ours.post("/send/", {"text": "Hello"})
        assert not Conversation.objects.get().temporary

    def test_a_reply_that_ends_after_the_chat_was_deleted_does_no_harm(self, owner):
        _, reply = send_message(owner, "Hello", temporary=True)
        erasure.discard_temporary(reply.conversation_id)
        finish_reply(reply, "Too late.", "complete")
        assert not Message.objects.exists()


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
async def test_closing_the_page_schedules_the_deletion(socket, owner):
    asked, _ = await sync_to_async(send_message)(owner, "Hello", temporary=True)
    page = socket(asked.conversation_id)
    assert await page.connect() is True
    await page.leave()
    job = await sync_to_async(Job.objects.get)(kind="discard")
    assert job.payload == {"conversations": [str(asked.conversation_id)]}
    assert timedelta(seconds=19) < job.run_after - job.created_at <= timedelta(seconds=20.5)
