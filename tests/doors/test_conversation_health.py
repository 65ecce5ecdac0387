"""A conversation's menu and health line: ending the chat, its memory mode, and the result of extractions."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from django.utils import timezone

from chat.actions import extraction as extraction_module
from chat.actions import owners
from chat.actions.messages import finish_reply
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.memory.candidates import Extraction, FactCandidate, RefusedFact
from chat.models import Conversation, ExtractionRun, Job

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat(talk):
    """A conversation with one message that is not extracted yet."""
    asked, reply = talk("I like chess.")
    finish_reply(reply, "All right.", "complete")
    return asked.conversation


def record_extraction_of(conversation, *candidates, **found):
    """Record an extraction with this result for the first message that is not extracted yet."""
    message = conversation.messages.not_extracted(Conversation.objects.get(pk=conversation.pk)).first()
    extraction = Extraction(list(candidates), **found)
    return extraction_module.record_extraction(message, extraction, [None] * len(candidates), "", 0.5)


def likes(thing: str) -> FactCandidate:
    return FactCandidate(
        f"User likes {thing}", "likes", "preference", "", hedged=False, quote=thing, language="en"
    )


def text(answer) -> str:
    return " ".join(answer.content.decode().split())


def health_line(client: Client, conversation=None) -> str:
    """Return the health line that the page of a conversation shows, or the memory page."""
    page = f"http://testserver/c/{conversation.pk}/#m-1" if conversation else "http://testserver/memory/"
    headers = {"hx-request": "true", "hx-current-url": page}
    return text(client.get("/memory/health/", headers=headers))


class TestEnd:
    """The End button ends the conversation."""

    def test_ending_by_form_leads_back_to_the_conversation_which_says_that_it_has_ended(self, ours, chat):
        answer = ours.post(f"/c/{chat.pk}/end/", follow=True)
        assert answer.redirect_chain == [(f"/c/{chat.pk}/", 302)]
        assert "Ended" in text(answer)
        assert Conversation.objects.get().ended_at is not None

    def test_ending_by_htmx_shows_a_toast_and_updates_the_menu(self, ours_htmx, chat):
        answer = ours_htmx.post(f"/c/{chat.pk}/end/")
        told = json.loads(answer.headers["HX-Trigger"])
        assert (answer.status_code, set(told)) == (204, {"chat-changed", "toast"})
        menu = text(ours_htmx.get(f"/c/{chat.pk}/care/"))
        assert "A new message opens it again." in menu
        assert "End this chat" not in menu


class TestSwitch:
    """The memory mode is on, read-only or off."""

    @pytest.mark.parametrize("mode", ["off", "read_only", "on"])
    def test_the_chosen_mode_is_saved_and_shown(self, ours, chat, mode):
        answer = ours.post(f"/c/{chat.pk}/memory/", {"mode": mode}, follow=True)
        assert Conversation.objects.get().memory_mode == mode
        assert f'value="{mode}" id="mode-menu-{mode}" aria-pressed="true"' in text(answer)
        assert text(answer).count('id="mode-menu-') == 3
        pressed = re.findall(r'id="mode-menu-(\w+)" aria-pressed="true"', text(answer))
        assert pressed == [mode]

    def test_an_unknown_mode_is_refused_with_a_message(self, ours_htmx, chat):
        answer = ours_htmx.post(f"/c/{chat.pk}/memory/", {"mode": "sometimes"})
        assert answer.status_code == 422
        assert "on, read-only or off" in text(answer)


class TestPastChatsSwitch:
    """Whether the prompts of a conversation quote past ones; without memory there is no switch."""

    @pytest.mark.parametrize(("switch", "used"), [("off", False), ("on", True)])
    def test_the_choice_is_saved_and_shown(self, ours, chat, switch, used):
        answer = ours.post(f"/c/{chat.pk}/past-chats/", {"past_chats": switch}, follow=True)
        assert Conversation.objects.get().use_past_chats is used
        assert f'id="past-chats-{switch}" aria-pressed="true"' in text(answer)

    def test_an_unknown_value_is_refused(self, ours_htmx, chat):
        assert ours_htmx.post(f"/c/{chat.pk}/past-chats/", {"past_chats": "maybe"}).status_code == 422
        assert Conversation.objects.get().use_past_chats

    def test_it_says_where_the_settings_switch_all_of_it_off(self, ours, chat):
        owners.set_past_chats(chat.owner, "off")
        assert "switched off in the settings" in text(ours.get(f"/c/{chat.pk}/"))

    def test_it_is_absent_without_memory(self, ours, chat):
        Conversation.objects.update(memory_mode="off")
        assert "past-chats-on" not in text(ours.get(f"/c/{chat.pk}/"))


class TestFlush:
    """The request that a page sends when it is hidden or left."""

    def test_a_form_with_the_csrf_token_makes_waiting_messages_due_at_once(self, chat, clock):
        page = Client(enforce_csrf_checks=True, headers={"origin": "http://testserver"})
        page.get("/")
        token = page.cookies["csrftoken"].value
        answer = page.post(f"/c/{chat.pk}/flush/", {"csrfmiddlewaretoken": token})
        assert answer.status_code == 204
        assert Job.objects.get(kind="extract").run_after <= timezone.now()

    def test_a_request_from_another_site_is_refused(self, chat):
        page = Client(headers={"origin": "http://elsewhere.example"})
        assert page.post(f"/c/{chat.pk}/flush/").status_code == 403
        assert not Conversation.objects.get().has_flushed_messages


class TestHealth:
    """The health line says what the last extraction did."""

    def test_before_the_first_extraction_it_says_how_many_messages_wait(self, ours_htmx, chat):
        shown = health_line(ours_htmx, chat)
        assert "Memory has not read this chat yet · 1 waiting" in shown
        assert "Waiting: 1 message not read yet." in shown

    def test_while_the_model_server_is_away_it_names_the_server(self, ours_htmx, chat):
        registry.set_status(ModelStatus(ModelState.AWAY, "fox", remote=True, host="big.example"))
        for shown in (health_line(ours_htmx, chat), health_line(ours_htmx)):
            assert "Memory waits for the model on big.example and continues automatically." in shown

    def test_it_sums_the_results_of_messages_extracted_together(self, ours_htmx, chat, talk, clock):
        _, reply = talk("I like chess and tea.", chat)
        finish_reply(reply, "All right.", "complete")
        record_extraction_of(chat, likes("chess"))
        record_extraction_of(chat, likes("chess"), likes("tea"))
        assert "Memory read this chat now · 2 learned, 1 already known" in health_line(ours_htmx, chat)

    def test_refused_facts_are_listed_with_their_reasons(self, ours_htmx, chat):
        record_extraction_of(chat, refused=[RefusedFact("User lives in Paris", "not in the user's words")])
        shown = health_line(ours_htmx, chat)
        assert "1 not kept" in shown
        assert "“User lives in Paris” <small>not in the user&#x27;s words</small>" in shown

    def test_an_extraction_without_facts_says_so(self, ours_htmx, chat):
        record_extraction_of(chat)
        assert "nothing to remember" in health_line(ours_htmx, chat)

    def test_unreadable_model_output_is_reported(self, ours_htmx, chat):
        record_extraction_of(chat, error="The model's notes could not be read, twice.")
        assert "notes could not be read, twice." in health_line(ours_htmx, chat)

    @pytest.mark.parametrize(
        ("kept", "said"),
        [
            (
                'verbatim {"sentence": "The engine tripped."}',
                "The engine tripped. It will be tried again automatically.",
            ),
            (
                "KeyError: 'x'",
                "Something went wrong while memory was reading. It will be tried again automatically.",
            ),
        ],
    )
    def test_a_failed_extraction_says_why_and_that_it_will_be_retried(self, ours_htmx, chat, kept, said):
        Job.objects.filter(kind="extract").update(last_error=kept)
        assert said in health_line(ours_htmx, chat)

    def test_an_extraction_that_gave_up_waits_for_the_next_message(self, ours_htmx, chat):
        Job.objects.filter(kind="extract").update(last_error="KeyError: 'x'", failed_at=timezone.now())
        assert "The next message starts another attempt." in health_line(ours_htmx, chat)

    def test_with_memory_off_nothing_is_shown_as_waiting(self, ours_htmx, chat):
        Conversation.objects.update(memory_mode="off")
        shown = health_line(ours_htmx, chat)
        assert "Memory is off in this chat" in shown
        assert "waiting" not in shown.lower()

    def test_the_memory_page_shows_the_last_extraction_of_all_chats_also_without_javascript(
        self, ours, ours_htmx, chat, clock
    ):
        record_extraction_of(chat, likes("chess"))
        assert "Memory last read now · 1 learned" in health_line(ours_htmx)
        page = text(ours.get("/memory/"))
        assert "Memory last read now · 1 learned" in page
        assert 'name="mode"' not in page

    def test_the_conversation_of_another_user_has_no_health_line(self, server_mode, other, logged_in, chat):
        record_extraction_of(chat, likes("chess"), refused=[RefusedFact("User lives in Paris", "made up")])
        ExtractionRun.objects.update(error="Something.")
        shown = health_line(logged_in(other), chat)
        assert "Memory has not read anything yet" in shown
        assert "Paris" not in shown
