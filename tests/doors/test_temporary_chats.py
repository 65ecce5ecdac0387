"""A temporary chat has no memory, stands in no list, and is gone once its page is closed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from chat.actions import conversations
from chat.actions.messages import Refused, finish_reply, send_message
from chat.api.sessions import Sessions
from chat.generation.hub import Watcher, hub
from chat.jobs.runner import run_due
from chat.models import Conversation, Job, MemoryMode, Message

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(owner, clock):
    """A temporary chat with one exchange, while the clock stands still."""
    asked, reply = send_message(owner, "I live in Oslo and like jazz.", temporary=True)
    finish_reply(Message.objects.get(pk=reply.pk), "Nice.", "complete")
    return asked.conversation


@pytest.fixture
def watched(chat):
    """Its page is open."""
    watcher = Watcher(None)
    hub.watch(str(chat.pk), watcher)
    return watcher


def is_there() -> bool:
    return Conversation.objects.exists()


class TestNoMemory:
    """Nothing of it is read, now or later."""

    def test_no_look_and_no_title_is_asked_for(self, owner, chat):
        assert chat.memory_mode == MemoryMode.OFF
        assert not Job.objects.filter(kind__in=("extract", "title")).exists()
        assert not Message.objects.backlog(owner).exists()
        assert not Message.objects.unread_by_memory(Conversation.objects.get()).exists()

    def test_memory_stays_off(self, ours, ours_htmx, chat):
        with pytest.raises(Refused, match="stays off"):
            conversations.set_memory_mode(chat, "on")
        assert ours_htmx.post(f"/c/{chat.pk}/memory/", {"mode": "on"}).status_code == 422
        page = ours.get(f"/c/{chat.pk}/").content.decode()
        assert 'name="mode"' not in page
        assert "Memory stays off in a temporary chat." in page


class TestNowhereListed:
    """It has its own page alone."""

    def test_neither_the_list_nor_programs_show_it(self, ours, owner, chat):
        assert "I live in Oslo" not in ours.get("/").content.decode()
        assert Sessions(owner, "").listed(10) == []

    def test_it_has_no_name_and_no_menu(self, ours, chat):
        page = ours.get(f"/c/{chat.pk}/").content.decode()
        assert "<title>Temporary chat · memoryapp</title>" in page
        assert f"/c/{chat.pk}/menu/" not in page
        for door in ("rename", "pin", "delete"):
            assert ours.post(f"/c/{chat.pk}/{door}/", {"title": "Oslo"}).status_code == 404


class TestItsEnd:
    """Closed for good, it is deleted with what the model has read of it."""

    def test_twenty_seconds_after_its_last_page_was_closed_it_is_gone(self, chat, clock):
        conversations.left(chat.pk)
        clock(19)
        assert run_due({"discard"}) == 0
        clock(2)
        assert run_due({"discard"}) == 1
        assert not is_there()
        assert Job.objects.filter(kind="free_caches", payload={"conversations": [str(chat.pk)]}).exists()
        assert not Job.objects.filter(kind="end_idle").exists()

    def test_a_page_that_comes_back_keeps_it(self, chat, watched, clock):
        conversations.left(chat.pk)
        clock(30)
        run_due({"discard"})
        assert is_there()
        hub.unwatch(str(chat.pk), watched)
        conversations.left(chat.pk)
        clock(30)
        run_due({"discard"})
        assert not is_there()

    def test_one_that_is_watched_when_its_time_comes_goes_when_nobody_watches(self, chat, watched, clock):
        conversations.left(chat.pk)
        clock(30)
        run_due({"discard"})
        hub.unwatch(str(chat.pk), watched)
        clock(599)
        run_due({"discard"})
        assert is_there()
        clock(2)
        run_due({"discard"})
        assert not is_there()
        assert not Job.objects.filter(kind="discard").exists()

    def test_a_page_that_is_loaded_anew_has_its_whole_time_to_come_back(self, chat, clock):
        conversations.left(chat.pk)
        clock(19)
        conversations.left(chat.pk)
        clock(10)
        run_due({"discard"})
        assert is_there()

    def test_one_that_was_kept_is_not_asked_for_again(self, chat, watched):
        conversations.discard_at(chat.pk, timezone.now())
        conversations.keep(chat)
        run_due({"discard"})
        assert not Job.objects.filter(kind="discard").exists()

    def test_the_next_start_of_the_process_discards_those_that_nobody_has_open(self, chat, talk, clock):
        kept, _ = talk("Hello")
        conversations.await_pages(clock(0))
        clock(21)
        run_due({"discard"})
        assert Conversation.objects.get() == kept.conversation

    def test_one_whose_page_never_opened_is_gone_after_ten_minutes(self, chat, clock):
        assert conversations.end_if_idle(chat.pk, clock(60)) is not None
        assert is_there()
        assert conversations.end_if_idle(chat.pk, clock(600)) is None
        assert not is_there()

    def test_end_deletes_it_and_leads_to_a_new_chat(self, ours, ours_htmx, chat):
        assert ours_htmx.post(f"/c/{chat.pk}/end/")["HX-Redirect"] == "/"
        assert not is_there()
        assert ours.post(f"/c/{chat.pk}/end/").status_code == 404

    def test_other_conversations_are_never_discarded(self, talk, clock):
        asked, _ = talk("Hello")
        assert conversations.discard(asked.conversation_id) is False
        assert is_there()


class TestBeginning:
    """The page of an empty one says what it is."""

    def test_the_first_message_of_a_temporary_page_begins_one(self, ours, scripted):
        page = ours.get("/?temporary=1").content.decode()
        assert "Memory is off. This chat is gone once you close it." in page
        assert 'name="temporary" value="1"' in page
        ours.post("/send/", {"text": "Hello", "temporary": "1"})
        assert Conversation.objects.get().temporary

    def test_any_other_page_begins_none(self, ours, scripted):
        assert 'name="temporary"' not in ours.get("/").content.decode()
        ours.post("/send/", {"text": "Hello"})
        assert not Conversation.objects.get().temporary

    def test_the_end_of_a_reply_that_outlives_it_does_no_harm(self, owner):
        _, reply = send_message(owner, "Hello", temporary=True)
        conversations.discard(reply.conversation_id)
        finish_reply(reply, "Too late.", "complete")
        assert not Message.objects.exists()


@pytest.mark.asyncio
@pytest.mark.django_db(transaction=True)
async def test_closing_the_page_sets_the_clock(socket, owner):
    asked, _ = await sync_to_async(send_message)(owner, "Hello", temporary=True)
    page = socket(asked.conversation_id)
    assert await page.opened() is True
    await page.leave()
    job = await sync_to_async(Job.objects.get)(kind="discard")
    assert job.payload == {"conversations": [str(asked.conversation_id)]}
    assert timedelta(seconds=19) < job.run_after - job.created_at <= timedelta(seconds=20.5)
