"""Slash commands sent to the server in place of messages: by the page, and by a plain form."""

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
    """A conversation with one exchange."""
    asked, reply = talk("Hello")
    finish_reply(reply, "Hi.", "complete")
    return asked.conversation


def send(client, text, conversation=None, **how):
    fields = {"text": text, **({"conversation": str(conversation.pk)} if conversation else {})}
    return client.post("/send/", fields, **how)


def hx_events(answer):
    return json.loads(answer.headers["HX-Trigger"])


def test_no_command_is_saved_as_a_message(ours_htmx, chat):
    for text in (
        "/clear",
        "/restore",
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
    """/load opens another chat, /save keeps a temporary one."""

    def test_load_opens_the_chat_that_matches_the_words(self, ours, ours_htmx, chat):
        address = f"/c/{chat.pk}/"
        assert send(ours, "/load hello").url == address
        assert send(ours_htmx, "/load hel").headers["HX-Redirect"] == address
        assert "No chat matches this." in hx_events(send(ours_htmx, "/load trains"))["toast"]["text"]

    def test_load_takes_the_place_in_the_list_and_the_id(self, ours, chat, talk):
        asked, reply = talk("2 loaves of rye")
        finish_reply(reply, "Bake them.", "complete")
        newer = asked.conversation
        addresses = {"1": newer, "2": chat, str(chat.pk): chat, chat.pk.hex.upper(): chat}
        for text, wanted in addresses.items():
            assert send(ours, f"/load {text}").url == f"/c/{wanted.pk}/"

    @pytest.mark.parametrize("text", ["2", "0", "99999"])
    def test_a_number_that_is_no_place_is_searched_for(self, ours_htmx, talk, text):
        asked, reply = talk("2 loaves, 0 rolls")
        finish_reply(reply, "Bake them.", "complete")
        answer = send(ours_htmx, f"/load {text}")
        assert answer.headers.get("HX-Redirect") == (
            f"/c/{asked.conversation_id}/" if text in ("2", "0") else None
        )

    def test_load_never_opens_a_chat_of_another_user(self, logged_in, other, server_mode, chat):
        for text in ("hello", "1", str(chat.pk)):
            answer = send(logged_in(other), f"/load {text}", headers={"origin": ORIGIN})
            assert answer.status_code == 422

    def test_load_never_opens_a_deleted_chat(self, ours_htmx, chat):
        deletions.delete_conversation(chat)
        for text in ("hello", "1", str(chat.pk)):
            assert send(ours_htmx, f"/load {text}").status_code == 422

    def test_save_keeps_a_temporary_chat(self, ours_htmx, owner):
        asked, reply = send_message(owner, "Hello there", temporary=True)
        finish_reply(reply, "Hi.", "complete")
        kept = asked.conversation
        assert send(ours_htmx, "/save", kept).headers["HX-Redirect"] == f"/c/{kept.pk}/"
        kept.refresh_from_db()
        assert (kept.temporary, kept.title, kept.memory_mode) == (False, "Hello there", "on")
        assert not Message.objects.not_extracted(kept).exists()
        assert "saved already" in hx_events(send(ours_htmx, "/save", kept))["toast"]["text"]

    def test_save_needs_a_chat_with_messages(self, ours_htmx, db):
        assert "Nothing has been said" in hx_events(send(ours_htmx, "/save"))["toast"]["text"]


class TestUndo:
    """/undo undoes the last deletion, whatever was deleted."""

    def test_undo_restores_what_was_deleted_last(self, ours_htmx, chat, make_fact, owner):
        first, second = make_fact("User likes tea"), make_fact("User likes rye")
        for fact in (first, second):
            deletions.forget_facts(owner, [fact.pk])
        send(ours_htmx, "/undo", chat)
        assert {fact.text for fact in Fact.objects.live()} == {"User likes rye"}

    def test_undo_says_that_there_is_nothing_to_undo(self, ours_htmx, chat):
        assert "nothing to undo" in hx_events(send(ours_htmx, "/undo", chat))["toast"]["text"]

    def test_undo_never_restores_what_another_user_deleted(self, ours_htmx, chat, other, make_fact):
        mine = make_fact("Somebody likes tea", owner=other)
        deletions.forget_facts(other, [mine.pk])
        assert send(ours_htmx, "/undo", chat).status_code == 422
        assert not Fact.objects.live().exists()


def test_a_path_is_sent_as_a_message(ours_htmx, chat, scripted):
    assert send(ours_htmx, "/etc/hosts what is this", chat).status_code == 200
    assert Message.objects.get(seq=3).content == "/etc/hosts what is this"


def test_an_unknown_command_is_refused_by_name(ours_htmx, chat):
    answer = send(ours_htmx, "/nonsense", chat)
    assert answer.status_code == 422
    assert "no command /nonsense" in hx_events(answer)["toast"]["text"]


def test_a_refused_command_in_a_plain_form_keeps_the_text(ours, chat):
    answer = send(ours, "/nonsense <b>", chat)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "no command /nonsense" in page
    assert ">/nonsense &lt;b&gt;</textarea>" in page
    assert "Hi." in page


def test_remember_stores_a_fact_as_an_explicit_request_and_offers_undo(ours_htmx, chat):
    answer = send(ours_htmx, "/remember I live in Oslo", chat)
    fact = Fact.objects.get()
    assert (fact.text, fact.origin) == ("I live in Oslo", Origin.TOLD)
    shown = hx_events(answer)["toast"]
    assert shown["text"] == "Remembered “I live in Oslo”"
    assert ours_htmx.post(shown["undo"]).status_code == 200
    assert not Fact.objects.live().exists()


def test_remember_does_not_store_a_known_fact_twice(ours_htmx, chat, make_fact):
    make_fact("I live in Oslo")
    answer = send(ours_htmx, "/remember I live in Oslo", chat)
    assert hx_events(answer)["toast"]["text"] == "Already remembered."
    assert Fact.objects.count() == 1


def test_unlearn_forgets_the_matching_memory_and_offers_undo(ours_htmx, chat, make_fact):
    make_fact("User likes chess")
    make_fact("User lives in Oslo")
    answer = send(ours_htmx, "/unlearn chess", chat)
    assert [f.text for f in Fact.objects.live()] == ["User lives in Oslo"]
    undo = hx_events(answer)["forgot"]["id"]
    assert ours_htmx.post(f"/memory/undo/{undo}/").status_code == 204
    assert Fact.objects.live().count() == 2


def test_unlearn_says_so_when_nothing_matches(ours_htmx, chat, make_fact):
    make_fact("User likes chess")
    answer = send(ours_htmx, "/unlearn tennis", chat)
    assert answer.status_code == 422
    assert hx_events(answer)["toast"]["text"] == "No memory matches this."


def test_unlearn_never_forgets_memories_of_another_user(server_mode, other, logged_in, make_fact):
    make_fact("User likes chess")
    assert send(logged_in(other), "/unlearn chess", headers={"hx-request": "true"}).status_code == 422
    assert Fact.objects.live().count() == 1


class TestClear:
    """/clear hides the messages so far from the model; /restore and a button take that back."""

    def test_clear_says_how_to_take_it_back_and_restore_does(self, ours_htmx, chat):
        cleared = send(ours_htmx, "/clear", chat)
        assert "Cleared here" in cleared.content.decode()
        assert "/restore brings it back." in hx_events(cleared)["toast"]["text"]
        assert Conversation.objects.get().cleared_through == 2
        assert "Cleared here" not in send(ours_htmx, "/restore", chat).content.decode()
        assert Conversation.objects.get().cleared_through == 0

    def test_the_line_has_a_button_that_sends_restore(self, ours, chat):
        send(ours, "/clear", chat)
        page = ours.get(f"/c/{chat.pk}/").content.decode()
        form = page[page.rindex("<form", 0, page.index("Cleared here")) :]
        form = form[: form.index("</form>")]
        assert 'action="/send/"' in form
        assert f'name="conversation" value="{chat.pk}"' in form
        assert 'name="text" value="/restore"' in form

    def test_restore_is_refused_where_nothing_is_hidden(self, ours_htmx, chat):
        for where in (chat, None):
            answer = send(ours_htmx, "/restore", where)
            assert answer.status_code == 422
            assert hx_events(answer)["toast"]["text"] == "The model sees everything that was said here."


class TestHistory:
    """/history shows the chat from its beginning and changes nothing."""

    def test_history_leads_to_the_first_message_and_keeps_what_is_hidden(self, ours, ours_htmx, chat):
        send(ours_htmx, "/clear", chat)
        before = Conversation.objects.values().get()
        first = Message.objects.get(seq=1)
        address = f"/c/{chat.pk}/?m={first.pk}#m-{first.pk}"
        assert send(ours_htmx, "/history", chat).headers["HX-Redirect"] == address
        assert send(ours, "/history", chat).url == address
        assert Conversation.objects.values().get() == before

    def test_history_of_an_empty_chat_says_that_it_is_empty(self, ours_htmx, owner):
        answer = send(ours_htmx, "/history")
        assert hx_events(answer)["toast"]["text"] == "Nothing has been said here yet."


def test_clear_is_refused_before_the_first_message(ours_htmx, owner):
    assert send(ours_htmx, "/clear").status_code == 422


def test_forget_deletes_the_chat_and_offers_undo(ours_htmx, ours, chat):
    here = f"http://testserver/c/{chat.pk}/"
    answer = send(ours_htmx, "/forget", chat, headers={"hx-current-url": here})
    assert answer.headers["HX-Redirect"] == "/"
    assert not Conversation.objects.not_deleted().exists()
    deletion = Conversation.objects.get().deletion
    assert f'action="/memory/undo/{deletion.pk}/"' in ours.get("/").content.decode()
    ours_htmx.post(f"/memory/undo/{deletion.pk}/")
    assert Conversation.objects.not_deleted().get() == chat


def test_forget_is_refused_before_the_first_message(ours_htmx, owner):
    assert send(ours_htmx, "/forget").status_code == 422


@pytest.mark.parametrize(("text", "address"), [("/new", "/"), ("/temporary", "/?temporary=1")])
def test_new_and_temporary_lead_to_an_empty_chat(ours, ours_htmx, chat, text, address):
    assert send(ours_htmx, text, chat).headers["HX-Redirect"] == address
    assert send(ours, text, chat).url == address


@pytest.mark.parametrize("name", ["memories", "sessions", "help"])
def test_some_commands_are_left_to_the_page(ours_htmx, chat, name):
    assert hx_events(send(ours_htmx, f"/{name}", chat)) == {"command": {"name": name}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/remember I like tea", "Remembered “I like tea”"),
        ("/clear", "The model no longer sees what was said here. /restore brings it back."),
        ("/help", "/unlearn"),
    ],
)
def test_without_javascript_the_next_page_says_what_was_done(ours, chat, text, said):
    page = send(ours, text, chat, follow=True)
    assert said in page.content.decode()


def test_without_javascript_memories_leads_to_the_memory_page(ours, chat):
    assert send(ours, "/memories", chat).url == "/memory/"
