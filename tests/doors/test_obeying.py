"""Commands that are sent instead of messages: by the page, and by a plain form."""

from __future__ import annotations

import json

import pytest

from chat.actions import deletions
from chat.actions.messages import finish_reply, send_message
from chat.models import Conversation, Fact, Message, Origin
from tests.conftest import ORIGIN

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(talk):
    """A conversation of one exchange."""
    asked, reply = talk("Hello")
    finish_reply(reply, "Hi.", "complete")
    return asked.conversation


def send(client, text, conversation=None, **how):
    fields = {"text": text, **({"conversation": str(conversation.pk)} if conversation else {})}
    return client.post("/send/", fields, **how)


def events(answer):
    return json.loads(answer.headers["HX-Trigger"])


def test_no_command_becomes_a_message(ours_htmx, chat):
    for text in (
        "/clear",
        "/history",
        "/help",
        "/memories",
        "/sessions",
        "/remember I like tea",
        "/nonsense",
    ):
        send(ours_htmx, text, chat)
    assert Message.objects.count() == 2


class TestOtherChats:
    """Another chat is gone on with, a temporary one is kept."""

    def test_words_lead_to_the_chat_that_holds_them(self, ours, ours_htmx, chat):
        address = f"/c/{chat.pk}/"
        assert send(ours, "/load hello").url == address
        assert send(ours_htmx, "/load hel").headers["HX-Redirect"] == address
        assert "No chat holds this." in events(send(ours_htmx, "/load trains"))["toast"]["text"]

    def test_nobody_is_led_to_another_users_chat(self, logged_in, other, server_mode, chat):
        answer = send(logged_in(other), "/load hello", headers={"origin": ORIGIN})
        assert answer.status_code == 422

    def test_a_temporary_one_stays_from_now_on(self, ours_htmx, owner):
        asked, reply = send_message(owner, "Hello there", temporary=True)
        finish_reply(reply, "Hi.", "complete")
        kept = asked.conversation
        assert send(ours_htmx, "/save", kept).headers["HX-Redirect"] == f"/c/{kept.pk}/"
        kept.refresh_from_db()
        assert (kept.temporary, kept.title, kept.memory_mode) == (False, "Hello there", "on")
        assert not Message.objects.unread_by_memory(kept).exists()
        assert "saved already" in events(send(ours_htmx, "/save", kept))["toast"]["text"]

    def test_before_anything_was_said_there_is_nothing_to_keep(self, ours_htmx, db):
        assert "Nothing has been said" in events(send(ours_htmx, "/save"))["toast"]["text"]


class TestUndo:
    """The last deletion is taken back, whatever it was of."""

    def test_it_brings_the_last_one_back(self, ours_htmx, chat, make_fact, owner):
        first, second = make_fact("User likes tea"), make_fact("User likes rye")
        for fact in (first, second):
            deletions.forget(owner, [fact.pk])
        send(ours_htmx, "/undo", chat)
        assert {fact.text for fact in Fact.objects.live()} == {"User likes rye"}

    def test_there_may_be_nothing_to_undo(self, ours_htmx, chat):
        assert "nothing to undo" in events(send(ours_htmx, "/undo", chat))["toast"]["text"]

    def test_nobody_undoes_what_another_user_deleted(self, ours_htmx, chat, other, make_fact):
        mine = make_fact("Somebody likes tea", owner=other)
        deletions.forget(other, [mine.pk])
        assert send(ours_htmx, "/undo", chat).status_code == 422
        assert not Fact.objects.live().exists()


def test_a_path_is_sent_as_a_message(ours_htmx, chat, scripted):
    assert send(ours_htmx, "/etc/hosts what is this", chat).status_code == 200
    assert Message.objects.get(seq=3).content == "/etc/hosts what is this"


def test_an_unknown_command_says_so(ours_htmx, chat):
    answer = send(ours_htmx, "/nonsense", chat)
    assert answer.status_code == 422
    assert "no command /nonsense" in events(answer)["toast"]["text"]


def test_a_plain_form_keeps_what_was_written(ours, chat):
    answer = send(ours, "/nonsense <b>", chat)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "no command /nonsense" in page
    assert ">/nonsense &lt;b&gt;</textarea>" in page
    assert "Hi." in page


def test_remember_stores_a_fact_as_told_and_offers_undo(ours_htmx, chat):
    answer = send(ours_htmx, "/remember I live in Oslo", chat)
    fact = Fact.objects.get()
    assert (fact.text, fact.origin) == ("I live in Oslo", Origin.TOLD)
    shown = events(answer)["toast"]
    assert shown["text"] == "Remembered “I live in Oslo”"
    assert ours_htmx.post(shown["undo"]).status_code == 200
    assert not Fact.objects.live().exists()


def test_what_is_known_is_not_remembered_twice(ours_htmx, chat, make_fact):
    make_fact("I live in Oslo")
    answer = send(ours_htmx, "/remember I live in Oslo", chat)
    assert events(answer)["toast"]["text"] == "Already remembered."
    assert Fact.objects.count() == 1


def test_unlearn_forgets_the_memory_that_is_meant_and_offers_undo(ours_htmx, chat, make_fact):
    make_fact("User likes chess")
    make_fact("User lives in Oslo")
    answer = send(ours_htmx, "/unlearn chess", chat)
    assert [f.text for f in Fact.objects.live()] == ["User lives in Oslo"]
    undo = events(answer)["forgot"]["id"]
    assert ours_htmx.post(f"/memory/undo/{undo}/").status_code == 204
    assert Fact.objects.live().count() == 2


def test_unlearn_says_so_when_nothing_matches(ours_htmx, chat, make_fact):
    make_fact("User likes chess")
    answer = send(ours_htmx, "/unlearn tennis", chat)
    assert answer.status_code == 422
    assert events(answer)["toast"]["text"] == "Nothing remembered says this."


def test_unlearn_never_reaches_another_persons_memories(server_mode, other, logged_in, make_fact):
    make_fact("User likes chess")
    assert send(logged_in(other), "/unlearn chess", headers={"hx-request": "true"}).status_code == 422
    assert Fact.objects.live().count() == 1


def test_clear_draws_the_line_and_history_takes_it_away(ours_htmx, chat):
    assert "Cleared here" in send(ours_htmx, "/clear", chat).content.decode()
    assert Conversation.objects.get().cleared_through == 2
    assert "Cleared here" not in send(ours_htmx, "/history", chat).content.decode()
    assert Conversation.objects.get().cleared_through == 0


def test_there_is_nothing_to_clear_before_the_first_message(ours_htmx, owner):
    assert send(ours_htmx, "/clear").status_code == 422


def test_forget_deletes_the_chat_with_undo(ours_htmx, ours, chat):
    here = f"http://testserver/c/{chat.pk}/"
    answer = send(ours_htmx, "/forget", chat, headers={"hx-current-url": here})
    assert answer.headers["HX-Redirect"] == "/"
    assert not Conversation.objects.kept().exists()
    deletion = Conversation.objects.get().deletion
    assert f'action="/memory/undo/{deletion.pk}/"' in ours.get("/").content.decode()
    ours_htmx.post(f"/memory/undo/{deletion.pk}/")
    assert Conversation.objects.kept().get() == chat


def test_there_is_nothing_to_forget_before_the_first_message(ours_htmx, owner):
    assert send(ours_htmx, "/forget").status_code == 422


@pytest.mark.parametrize(("text", "address"), [("/new", "/"), ("/temporary", "/?temporary=1")])
def test_some_lead_to_another_page(ours, ours_htmx, chat, text, address):
    assert send(ours_htmx, text, chat).headers["HX-Redirect"] == address
    assert send(ours, text, chat).url == address


@pytest.mark.parametrize("name", ["memories", "sessions", "help"])
def test_some_are_done_by_the_page(ours_htmx, chat, name):
    assert events(send(ours_htmx, f"/{name}", chat)) == {"command": {"name": name}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/remember I like tea", "Remembered “I like tea”"),
        ("/clear", "The model no longer sees what was said here."),
        ("/help", "/unlearn"),
    ],
)
def test_without_a_script_the_page_says_what_was_done(ours, chat, text, said):
    page = send(ours, text, chat, follow=True)
    assert said in page.content.decode()


def test_without_a_script_memories_are_a_page(ours, chat):
    assert send(ours, "/memories", chat).url == "/memory/"
