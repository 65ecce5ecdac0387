"""A quotation that the user calls irrelevant leaves the prompts, and is not quoted for similar messages."""

from __future__ import annotations

import pytest

from chat.actions import prompts
from chat.actions.quotations import set_relevance
from chat.context.prompt import build_prompt
from chat.context.stored_quotations import list_quotations
from chat.models import Conversation, Message, Quotation
from tests.past_chats.conftest import list_quoted, read_prompt

FLIGHT = ("My flight to Lima is on 3 March at noon.", "Then pack the yellow suitcase for Lima.")
ASKED = "When do I fly to Lima again?"


@pytest.fixture
def dismissed(remember, ask) -> Quotation:
    """The quotation "My flight to Lima …" of a prompt, marked as irrelevant."""
    remember(*FLIGHT)
    ask(ASKED)
    found = Quotation.objects.get(source__content=FLIGHT[0])
    set_relevance(found, relevant=False)
    return Quotation.objects.select_related("message__conversation").get(pk=found.pk)


def test_it_is_not_quoted_for_the_same_or_a_similar_question(dismissed, ask):
    for text in (ASKED, "On which day is my flight to Lima?"):
        assert FLIGHT[0] not in list_quoted(ask(text))


def test_it_is_still_quoted_for_another_question(dismissed, ask):
    assert FLIGHT[0] in list_quoted(ask("What is it that I told you I have on 3 March?"))


def test_it_leaves_the_history_of_its_conversation(dismissed, ask):
    conversation = dismissed.message.conversation
    assert FLIGHT[0] not in read_prompt(ask("Thanks!", conversation))


def test_it_can_be_taken_back(dismissed, ask):
    set_relevance(dismissed, relevant=True)
    assert FLIGHT[0] in list_quoted(ask(ASKED))


def test_it_stays_listed_under_the_reply_and_is_marked(dismissed):
    reply = Message.objects.get(conversation=dismissed.message.conversation, role="assistant")
    shown = {one.text: one.irrelevant for one in list_quotations(reply)}
    assert shown[FLIGHT[0]] is True
    assert not all(shown.values())


def test_a_new_reply_to_the_same_message_leaves_the_mark(dismissed, provider):
    asked = dismissed.message
    conversation = Conversation.objects.get(pk=asked.conversation_id)
    reply = Message.objects.get(conversation=conversation, role="assistant")
    prompts.record_prompt(conversation, asked, reply, build_prompt(conversation, asked, provider), 8192)
    assert Quotation.objects.get(pk=dismissed.pk).irrelevant
    places = list(Quotation.objects.filter(message=asked).values_list("place", flat=True))
    assert len(places) == len(set(places)) > 1


def test_the_page_offers_it_and_its_undo(dismissed, ours_htmx):
    page = ours_htmx.post(f"/quotations/{dismissed.pk}/", {"relevant": "yes"}).content.decode()
    assert "Not relevant" in page
    page = ours_htmx.post(f"/quotations/{dismissed.pk}/", {"relevant": "no"}).content.decode()
    assert "Undo" in page
    assert Quotation.objects.get(pk=dismissed.pk).irrelevant


def test_without_htmx_it_leads_back_to_the_conversation(dismissed, ours):
    answer = ours.post(f"/quotations/{dismissed.pk}/", {"relevant": "no"})
    assert answer.url == f"/c/{dismissed.message.conversation_id}/"


def test_it_holds_for_a_follow_up_too(remember, ask):
    remember("Which microphones suit my podcast?", "First the Brenwick 40, second the Talvo Mini.")
    remember("The Talvo Mini, my second microphone, costs 89 euros.", "That is fair.", days=1)
    ask("Which microphone did you suggest first for the podcast?")
    conversation = Conversation.objects.latest("created_at")
    Quotation.objects.filter(source__content__contains="89").delete()
    asked = "and how much was the second one?"
    ask(asked, conversation)
    for row in Quotation.objects.filter(message__content=asked):
        set_relevance(row, relevant=False)
    assert "89 euros" not in " ".join(list_quoted(ask(asked, conversation)))
