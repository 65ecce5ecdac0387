"""A conversation gets its title from the model once it is about something, and keeps what the user wrote."""

from __future__ import annotations

from datetime import timedelta

import pytest

from chat.actions import events, rooms, titles
from chat.actions.messages import finish_reply
from chat.jobs.runner import run_due
from chat.models import Conversation, Job, UsageRecord

pytestmark = pytest.mark.django_db

TENT = "Can you help me pick a tent for two?"


@pytest.fixture(autouse=True)
def at_once(request, monkeypatch):
    """No title waits for its time, but where a test is about that."""
    if "clock" not in request.fixturenames:
        monkeypatch.setattr(titles, "AFTER_MEMORY", timedelta())


def look(chat: Conversation) -> tuple[str, str]:
    chat.refresh_from_db()
    return chat.title, chat.titled_by


def test_the_first_exchange_gets_a_title_and_pages_hear_of_it(
    say, scripted, monkeypatch, django_capture_on_commit_callbacks
):
    heard = []
    chat = say(TENT)
    scripted.titles.append("A tent for two")
    monkeypatch.setattr(events, "send_now", lambda owner, event: heard.append(event))
    with django_capture_on_commit_callbacks(execute=True):
        assert run_due({"title"}) == 1
    assert look(chat) == ("A tent for two", "model")
    assert {"type": "rooms"} in heard
    assert UsageRecord.objects.get(purpose="title").lane == "background"


def test_memory_looks_first_and_the_title_follows(say, scripted, clock):
    clock(0)
    chat = say(TENT)
    scripted.titles.append("A tent for two")
    assert run_due({"title"}) == 0
    clock(5)
    run_due({"title"})
    assert look(chat) == (TENT, "opening")
    run_due({"extract"})
    clock(4)
    run_due({"title"})
    assert look(chat) == ("A tent for two", "model")


def test_it_has_one_title_and_is_not_asked_for_another(say, scripted):
    chat = say(TENT)
    scripted.titles.extend(["A tent for two", "Another"])
    run_due({"title"})
    say("And a stove?", chat)
    assert run_due({"title"}) == 0
    assert look(chat) == ("A tent for two", "model")


def test_small_talk_waits_for_the_next_exchange(say, scripted):
    chat = say("Hi")
    assert not Job.objects.filter(kind="title").exists()
    scripted.titles.append("A tent for two")
    say(TENT, chat)
    run_due({"title"})
    assert look(chat) == ("A tent for two", "model")
    assert "User: Hi" in scripted.calls[-1].turns[-1].content


def test_a_failed_try_keeps_the_first_words_and_the_next_exchange_tries_again(say, scripted):
    chat = say(TENT)
    scripted.titles.extend(["none", ValueError("broken"), "A tent for two"])
    assert run_due({"title"}) == 1
    assert look(chat) == (TENT, "opening")
    say("And a stove?", chat)
    assert run_due({"title"}) == 0
    assert look(chat) == (TENT, "opening")
    say("A light one.", chat)
    run_due({"title"})
    assert look(chat) == ("A tent for two", "model")
    assert not Job.objects.filter(kind="title").exists()


def test_after_three_exchanges_it_is_asked_no_more(say, scripted):
    chat = say(TENT)
    for text in ("And a stove?", "A light one.", "For gas."):
        say(text, chat)
        run_due({"title"})
    assert sum(call.slot == "title" for call in scripted.calls) == 2


def test_what_the_user_named_stays(say, scripted):
    chat = say(TENT)
    rooms.rename(chat, "Norway")
    scripted.titles.append("A tent for two")
    assert run_due({"title"}) == 1
    assert look(chat) == ("Norway", "user")
    assert not titles.give_title(chat.pk, "Something else")


def test_a_name_that_is_given_while_the_model_thinks_stays(say, scripted):
    chat = say(TENT)

    def think(turns):
        rooms.rename(chat, "Norway")
        return "A tent for two"

    scripted.titles.append(think)
    run_due({"title"})
    assert look(chat) == ("Norway", "user")


def test_temporary_chats_get_none(talk, scripted):
    _, reply = talk(TENT)
    Conversation.objects.update(temporary=True)
    finish_reply(reply, "Gladly.", "complete")
    assert not Job.objects.filter(kind="title").exists()


def test_a_conversation_that_is_gone_needs_none(say, scripted):
    say(TENT).delete()
    assert run_due({"title"}) == 1
    assert scripted.calls == []
