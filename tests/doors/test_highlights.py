"""Remembering selected words of a message, with a link to the message and undo."""

from __future__ import annotations

import uuid

import pytest
from django.urls import reverse

from chat.actions.messages import finish_reply
from chat.models import Fact, FactEvent, Job

from .responses import text_of, triggered_events

pytestmark = pytest.mark.django_db

KEY = "sk-proj-4fJ8aB2kLmN9qRsT7uVwXyZ0"
SAID = f"Try **Lake Bled**:\n\n- rent a `rowing boat`\n- eat the *cream cake*\n\nMy key is {KEY}"


@pytest.fixture
def answered(talk):
    """A question and its answer."""
    asked, reply = talk("I always travel with my violin. Where should I go?")
    finish_reply(reply, SAID, "complete")
    return asked, reply


@pytest.fixture
def remember(ours_htmx):
    """Return a function that sends selected words of a message."""
    return lambda message, quote: ours_htmx.post(
        "/memory/highlight/", {"message": str(message.pk), "text": quote}
    )


def test_words_of_a_reply_are_remembered_with_their_message_and_undo(answered, remember):
    answer = remember(answered[1], "Try Lake Bled")
    fact = Fact.objects.get()
    assert (fact.text, fact.quote, fact.origin) == ("Try Lake Bled", "Try Lake Bled", "highlight")
    assert (fact.source_message, fact.source_conversation) == (answered[1], answered[1].conversation)
    assert FactEvent.objects.get().source_message == answered[1]
    told = {"text": "Remembered “Try Lake Bled”", "undo": reverse("fact_delete", args=[fact.pk])}
    assert triggered_events(answer) == {"memory-changed": {}, "toast": told}
    assert answer.status_code == 204


def test_a_highlight_is_classified_later_like_a_fact_added_by_hand(answered, remember):
    remember(answered[0], "I always travel with my violin")
    fact = Fact.objects.get()
    assert fact.confidence == pytest.approx(0.6)
    assert Job.objects.filter(kind="settle", payload__fact=str(fact.pk)).exists()


@pytest.mark.parametrize(
    "quote",
    ["rent a rowing boat\neat the cream cake", "lake bled", "  cream   cake ", "Lake Bled:\n\nrent a rowing"],
)
def test_markdown_and_line_breaks_of_the_message_are_ignored(answered, remember, quote):
    assert remember(answered[1], quote).status_code == 204


@pytest.mark.parametrize("quote", ["Lake Como", "I always travel with my violin", "", "…"])
def test_words_that_are_not_in_the_message_are_refused(answered, remember, quote):
    answer = remember(answered[1], quote)
    assert answer.status_code == 422
    assert (
        triggered_events(answer)["toast"]["text"] == "These words are not in the message. Select them again."
    )
    assert not Fact.objects.exists()


def test_a_selection_that_is_too_long_is_refused_with_a_message(talk, remember):
    asked, _ = talk("very " * 80)
    answer = remember(asked, "very " * 61)
    assert triggered_events(answer)["toast"]["text"] == (
        "That is too long to remember as one. Select up to 300 characters."
    )
    assert not Fact.objects.exists()


def test_secrets_are_redacted_or_refused(answered, remember):
    assert remember(answered[1], f"My key is {KEY}").status_code == 204
    fact = Fact.objects.get()
    assert fact.text == fact.quote == "My key is [redacted]"
    answer = remember(answered[1], KEY)
    assert triggered_events(answer)["toast"]["text"] == "This looks like a secret. Secrets are not stored."


def test_a_known_fact_is_not_stored_again_and_offers_no_undo(answered, remember, make_fact):
    make_fact("cream cake")
    answer = remember(answered[1], "cream cake")
    assert triggered_events(answer)["toast"] == {"text": "Already remembered: “cream cake”"}
    assert Fact.objects.get().mention_count == 2


def test_without_javascript_it_leads_back_to_the_conversation(ours, answered):
    data = {"message": str(answered[1].pk), "text": "cream cake"}
    answer = ours.post("/memory/highlight/", data, follow=True)
    assert answer.redirect_chain == [(f"/c/{answered[1].conversation_id}/", 302)]
    assert [str(m) for m in answer.context["messages"]] == ["Remembered “cream cake”"]


def test_an_unknown_message_is_not_found(ours, owner):
    for key in ("", "none", str(uuid.uuid4())):
        assert ours.post("/memory/highlight/", {"message": key, "text": "x"}).status_code == 404


def test_the_origin_links_to_the_message(ours, answered, remember):
    remember(answered[1], "cream cake")
    page = text_of(ours.get(f"/memory/{Fact.objects.get().pk}/origin/"))
    assert "<blockquote>“cream cake”</blockquote>" in page
    assert f"#m-{answered[1].pk}" in page
