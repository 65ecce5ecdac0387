"""The model titles a conversation once it has a subject; a title that the user wrote is kept."""

from __future__ import annotations

from datetime import timedelta

import pytest

from chat.actions import conversation_titles, conversations, events
from chat.actions.messages import finish_reply
from chat.jobs.runner import run_due
from chat.models import Conversation, Job, UsageRecord

pytestmark = pytest.mark.django_db

TENT = "Can you help me pick a tent for two?"


@pytest.fixture(autouse=True)
def immediate_titles(request, monkeypatch):
    """Make title jobs due immediately, except in tests that use the clock."""
    if "clock" not in request.fixturenames:
        monkeypatch.setattr(conversation_titles, "TITLE_DELAY", timedelta())


def read_title(chat: Conversation) -> tuple[str, str]:
    chat.refresh_from_db()
    return chat.title, chat.titled_by


def test_the_first_exchange_gets_a_title_and_pages_receive_an_event(
    add_exchange, scripted, monkeypatch, django_capture_on_commit_callbacks
):
    sent_events = []
    chat = add_exchange(TENT)
    scripted.titles.append("A tent for two")
    monkeypatch.setattr(events, "send_now", lambda owner, event: sent_events.append(event))
    with django_capture_on_commit_callbacks(execute=True):
        assert run_due({"title"}) == 1
    assert read_title(chat) == ("A tent for two", "model")
    assert {"type": "conversations"} in sent_events
    assert UsageRecord.objects.get(purpose="title").lane == "background"


def test_the_title_waits_for_extraction(add_exchange, scripted, clock):
    clock(0)
    chat = add_exchange(TENT)
    scripted.titles.append("A tent for two")
    assert run_due({"title"}) == 0
    clock(5)
    run_due({"title"})
    assert read_title(chat) == (TENT, "opening")
    run_due({"extract"})
    clock(4)
    run_due({"title"})
    assert read_title(chat) == ("A tent for two", "model")


def test_a_titled_conversation_queues_no_further_title(add_exchange, scripted):
    chat = add_exchange(TENT)
    scripted.titles.extend(["A tent for two", "Another"])
    run_due({"title"})
    add_exchange("And a stove?", chat)
    assert run_due({"title"}) == 0
    assert read_title(chat) == ("A tent for two", "model")


def test_small_talk_gets_no_title_until_the_next_exchange(add_exchange, scripted):
    chat = add_exchange("Hi")
    assert not Job.objects.filter(kind="title").exists()
    scripted.titles.append("A tent for two")
    add_exchange(TENT, chat)
    run_due({"title"})
    assert read_title(chat) == ("A tent for two", "model")
    assert "User: Hi" in scripted.calls[-1].turns[-1].content


def test_a_failed_title_is_retried_after_later_exchanges(add_exchange, scripted):
    chat = add_exchange(TENT)
    scripted.titles.extend(["none", ValueError("broken"), "A tent for two"])
    assert run_due({"title"}) == 1
    assert read_title(chat) == (TENT, "opening")
    add_exchange("And a stove?", chat)
    assert run_due({"title"}) == 0
    assert read_title(chat) == (TENT, "opening")
    add_exchange("A light one.", chat)
    run_due({"title"})
    assert read_title(chat) == ("A tent for two", "model")
    assert not Job.objects.filter(kind="title").exists()


def test_no_title_is_requested_after_three_exchanges(add_exchange, scripted):
    chat = add_exchange(TENT)
    for text in ("And a stove?", "A light one.", "For gas."):
        add_exchange(text, chat)
        run_due({"title"})
    assert sum(call.slot == "title" for call in scripted.calls) == 2


def test_a_title_by_the_user_is_kept(add_exchange, scripted):
    chat = add_exchange(TENT)
    conversations.rename_conversation(chat, "Norway")
    scripted.titles.append("A tent for two")
    assert run_due({"title"}) == 1
    assert read_title(chat) == ("Norway", "user")
    assert not conversation_titles.set_model_title(chat.pk, "Something else")


def test_a_rename_during_the_model_call_is_kept(add_exchange, scripted):
    chat = add_exchange(TENT)

    def think(turns):
        conversations.rename_conversation(chat, "Norway")
        return "A tent for two"

    scripted.titles.append(think)
    run_due({"title"})
    assert read_title(chat) == ("Norway", "user")


def test_temporary_conversations_get_no_title(talk, scripted):
    _, reply = talk(TENT)
    Conversation.objects.update(temporary=True)
    finish_reply(reply, "Gladly.", "complete")
    assert not Job.objects.filter(kind="title").exists()


def test_the_title_job_of_a_deleted_conversation_does_nothing(add_exchange, scripted):
    add_exchange(TENT).delete()
    assert run_due({"title"}) == 1
    assert scripted.calls == []
