"""A follow-up is understood with its topic: what the user asked before it, if that got quotations."""

from __future__ import annotations

import pytest

from chat.context.past_chats import find_quoted_topic
from chat.models import Conversation, Message
from tests.past_chats.conftest import list_quoted

MICROPHONES = (
    "Which microphones would you buy for my podcast in a small room?",
    "The first is the Brenwick 40, a dynamic one. The second is the Talvo Mini, which plugs into a laptop.",
)
ASKED = "Which microphone did you suggest first for the podcast?"


@pytest.fixture
def talking(remember, ask) -> Conversation:
    """A conversation in which the user asked about a past one that does not hold everything."""
    remember(*MICROPHONES)
    remember("How do I get wine out of wool?", "With cold water and a spoon of vinegar.")
    asked = ask(ASKED)
    assert "Brenwick" in " ".join(list_quoted(asked))
    return Conversation.objects.latest("created_at")


def add_chat_about_price(remember):
    remember(
        "The Talvo Mini, the second microphone for the podcast, costs 89 euros.", "That is fair.", days=1
    )


def test_a_follow_up_is_answered_from_the_chats_about_its_topic(talking, remember, ask):
    add_chat_about_price(remember)
    assert "89 euros" in " ".join(list_quoted(ask("and how much was the second one?", talking)))


def test_a_sentence_that_the_prompt_quotes_already_is_not_quoted_again(talking, ask):
    before = {
        text
        for asked in ("and the second one?", "which one was it again?")
        for text in list_quoted(ask(asked, talking))
    }
    first = set(list_quoted(ask(ASKED)))
    assert not before & first


@pytest.mark.parametrize("text", ["thanks, great", "translate that into French", "now write a poem about it"])
def test_what_asks_for_nothing_more_gets_no_quotation(talking, remember, ask, text):
    add_chat_about_price(remember)
    assert list_quoted(ask(text, talking)) == []


def test_without_quotations_before_it_a_follow_up_asks_about_the_present_chat(remember, ask):
    ask("Name two microphones for a podcast.")
    present = Conversation.objects.latest("created_at")
    add_chat_about_price(remember)
    assert list_quoted(ask("and the second one?", present)) == []


def test_the_topic_begins_with_the_first_of_three_messages_that_has_quotations(talking, ask):
    for text in ("and the second one?", "ok", "thanks"):
        ask(text, talking)
    last = Message.objects.filter(conversation=talking, role="user").latest("seq")
    topic = find_quoted_topic(last).splitlines()
    assert topic[-1] == "ok"
    assert len(topic) <= 3


def test_what_clear_hid_is_no_topic(talking, ask):
    Conversation.objects.filter(pk=talking.pk).update(cleared_through=2)
    talking.refresh_from_db()
    asked = Message.objects.create(conversation=talking, seq=3, role="user", content="and the second one?")
    assert find_quoted_topic(asked) == ""
