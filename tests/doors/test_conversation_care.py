"""A conversation's menu and health line: its end, what memory may do in it, and what memory did."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.utils import timezone

from chat.actions import looks
from chat.actions.messages import finish_reply
from chat.llm.registry import registry
from chat.llm.state import ModelState, Status
from chat.memory.extract import Candidate, Extraction, Refusal
from chat.models import Conversation, ExtractionRun, Job

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(talk):
    """A conversation with one message that memory has not read."""
    asked, reply = talk("I like chess.")
    finish_reply(reply, "All right.", "complete")
    return asked.conversation


def look(conversation, *candidates, **found):
    """Have memory find this in the first message that it has not read."""
    message = conversation.messages.unread_by_memory(Conversation.objects.get(pk=conversation.pk)).first()
    extraction = Extraction(list(candidates), **found)
    return looks.record_look(message, extraction, [None] * len(candidates), "", 0.5)


def likes(thing: str) -> Candidate:
    return Candidate(
        f"User likes {thing}", "likes", "preference", "", hedged=False, quote=thing, language="en"
    )


def text(answer) -> str:
    return " ".join(answer.content.decode().split())


def line(client: Client, conversation=None) -> str:
    """Return the health line that the page of a conversation shows, or the memory page."""
    page = f"http://testserver/c/{conversation.pk}/#m-1" if conversation else "http://testserver/memory/"
    headers = {"hx-request": "true", "hx-current-url": page}
    return text(client.get("/memory/health/", headers=headers))


class TestEnd:
    """The End button."""

    def test_as_a_form_it_leads_back_to_the_conversation_that_says_it_has_ended(self, ours, chat):
        answer = ours.post(f"/c/{chat.pk}/end/", follow=True)
        assert answer.redirect_chain == [(f"/c/{chat.pk}/", 302)]
        assert "Ended" in text(answer)
        assert Conversation.objects.get().ended_at is not None

    def test_by_htmx_it_says_so_and_has_the_menu_drawn_anew(self, ours_htmx, chat):
        answer = ours_htmx.post(f"/c/{chat.pk}/end/")
        told = json.loads(answer.headers["HX-Trigger"])
        assert (answer.status_code, set(told)) == (204, {"chat-changed", "toast"})
        menu = text(ours_htmx.get(f"/c/{chat.pk}/care/"))
        assert "A new message opens it again." in menu
        assert "End this chat" not in menu


class TestSwitch:
    """On, read-only, off."""

    @pytest.mark.parametrize("mode", ["off", "read_only", "on"])
    def test_it_has_a_state_that_is_kept(self, ours, chat, mode):
        answer = ours.post(f"/c/{chat.pk}/memory/", {"mode": mode}, follow=True)
        assert Conversation.objects.get().memory_mode == mode
        assert f'value="{mode}" id="mode-menu-{mode}" aria-pressed="true"' in text(answer)
        assert text(answer).count('aria-pressed="true"') == 1

    def test_another_mode_is_refused_with_a_sentence(self, ours_htmx, chat):
        answer = ours_htmx.post(f"/c/{chat.pk}/memory/", {"mode": "sometimes"})
        assert answer.status_code == 422
        assert "on, read-only or off" in text(answer)


class TestFlush:
    """What a beacon asks for."""

    def test_a_form_with_the_token_has_what_waits_read_at_once(self, chat, clock):
        page = Client(enforce_csrf_checks=True, headers={"origin": "http://testserver"})
        page.get("/")
        token = page.cookies["csrftoken"].value
        answer = page.post(f"/c/{chat.pk}/flush/", {"csrfmiddlewaretoken": token})
        assert answer.status_code == 204
        assert Job.objects.get(kind="extract").run_after <= timezone.now()

    def test_from_another_page_it_is_refused(self, chat):
        page = Client(headers={"origin": "http://elsewhere.example"})
        assert page.post(f"/c/{chat.pk}/flush/").status_code == 403
        assert not Conversation.objects.get().is_flushed


class TestHealth:
    """What memory did, in words."""

    def test_before_the_first_look_it_says_so_and_what_waits(self, ours_htmx, chat):
        shown = line(ours_htmx, chat)
        assert "This chat has not been looked at yet · 1 waiting" in shown
        assert "Waiting: 1 message not read yet." in shown

    def test_while_the_models_server_is_away_it_says_whom_memory_waits_for(self, ours_htmx, chat):
        registry._set(Status(ModelState.AWAY, "fox", remote=True, host="big.example"))
        for shown in (line(ours_htmx, chat), line(ours_htmx)):
            assert "Memory waits for the model on big.example, and goes on by itself." in shown

    def test_it_sums_what_came_of_the_messages_read_in_one_go(self, ours_htmx, chat, talk, clock):
        _, reply = talk("I like chess and tea.", chat)
        finish_reply(reply, "All right.", "complete")
        look(chat, likes("chess"))
        look(chat, likes("chess"), likes("tea"))
        assert "Looked at this chat now · 2 learned, 1 already known" in line(ours_htmx, chat)

    def test_what_was_refused_is_listed_with_its_reason(self, ours_htmx, chat):
        look(chat, refused=[Refusal("User lives in Paris", "not in the user's words")])
        shown = line(ours_htmx, chat)
        assert "1 not kept" in shown
        assert "“User lives in Paris” <small>not in the user&#x27;s words</small>" in shown

    def test_a_look_that_found_nothing_says_so(self, ours_htmx, chat):
        look(chat)
        assert "nothing to remember" in line(ours_htmx, chat)

    def test_notes_that_could_not_be_read_are_said_in_words(self, ours_htmx, chat):
        look(chat, error="The model's notes could not be read, twice.")
        assert "notes could not be read, twice." in line(ours_htmx, chat)

    @pytest.mark.parametrize(
        ("kept", "said"),
        [
            ("ProviderError: The engine tripped.", "The engine tripped. It is tried again by itself."),
            ("KeyError: 'x'", "Something went wrong while memory was looking. It is tried again by itself."),
        ],
    )
    def test_a_failed_look_says_why_and_what_comes_next(self, ours_htmx, chat, kept, said):
        Job.objects.filter(kind="extract").update(last_error=kept)
        assert said in line(ours_htmx, chat)

    def test_one_that_was_given_up_waits_for_the_next_message(self, ours_htmx, chat):
        Job.objects.filter(kind="extract").update(last_error="KeyError: 'x'", failed_at=timezone.now())
        assert "The next message tries again." in line(ours_htmx, chat)

    def test_where_memory_is_off_it_says_that_and_nothing_waits(self, ours_htmx, chat):
        Conversation.objects.update(memory_mode="off")
        shown = line(ours_htmx, chat)
        assert "Memory is off in this chat" in shown
        assert "waiting" not in shown.lower()

    def test_the_memory_page_shows_the_last_look_of_all_without_scripts_too(
        self, ours, ours_htmx, chat, clock
    ):
        look(chat, likes("chess"))
        assert "Last looked now · 1 learned" in line(ours_htmx)
        page = text(ours.get("/memory/"))
        assert "Last looked now · 1 learned" in page
        assert 'name="mode"' not in page

    def test_another_persons_conversation_has_no_line(self, server_mode, other, logged_in, chat):
        look(chat, likes("chess"), refused=[Refusal("User lives in Paris", "made up")])
        ExtractionRun.objects.update(error="Something.")
        shown = line(logged_in(other), chat)
        assert "Memory has not looked at anything yet" in shown
        assert "Paris" not in shown
