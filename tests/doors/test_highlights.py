"""Highlight to remember: words of a message become a memory, with their message and a way back."""

from __future__ import annotations

import uuid

import pytest
from django.urls import reverse

from chat.actions.messages import finish_reply
from chat.models import Fact, FactEvent, Job

from .answers import text, triggers

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
    """Returns a presser of the button beside a selection."""
    return lambda message, quote: ours_htmx.post(
        "/memory/highlight/", {"message": str(message.pk), "text": quote}
    )


def test_words_of_a_reply_are_remembered_with_their_message_and_an_undo(answered, remember):
    answer = remember(answered[1], "Try Lake Bled")
    fact = Fact.objects.get()
    assert (fact.text, fact.quote, fact.origin) == ("Try Lake Bled", "Try Lake Bled", "highlight")
    assert (fact.source_message, fact.source_conversation) == (answered[1], answered[1].conversation)
    assert FactEvent.objects.get().source_message == answered[1]
    told = {"text": "Remembered “Try Lake Bled”", "undo": reverse("fact_delete", args=[fact.pk])}
    assert triggers(answer) == {"memory-changed": {}, "toast": told}
    assert answer.status_code == 204


def test_the_model_sorts_it_later_like_what_is_added_by_hand(answered, remember):
    remember(answered[0], "I always travel with my violin")
    fact = Fact.objects.get()
    assert fact.confidence == pytest.approx(0.6)
    assert Job.objects.filter(kind="settle", payload__fact=str(fact.pk)).exists()


@pytest.mark.parametrize(
    "quote",
    ["rent a rowing boat\neat the cream cake", "lake bled", "  cream   cake ", "Lake Bled:\n\nrent a rowing"],
)
def test_markdown_and_line_breaks_make_no_difference(answered, remember, quote):
    assert remember(answered[1], quote).status_code == 204


@pytest.mark.parametrize("quote", ["Lake Como", "I always travel with my violin", "", "…"])
def test_what_does_not_stand_in_the_message_is_refused(answered, remember, quote):
    answer = remember(answered[1], quote)
    assert answer.status_code == 422
    assert triggers(answer)["toast"]["text"] == "These words are not in the message. Select them again."
    assert not Fact.objects.exists()


def test_what_is_too_long_is_refused_with_a_sentence(talk, remember):
    asked, _ = talk("very " * 80)
    answer = remember(asked, "very " * 61)
    assert triggers(answer)["toast"]["text"] == (
        "That is too long to remember as one. Select up to 300 characters."
    )
    assert not Fact.objects.exists()


def test_secrets_are_left_out(answered, remember):
    assert remember(answered[1], f"My key is {KEY}").status_code == 204
    fact = Fact.objects.get()
    assert fact.text == fact.quote == "My key is [redacted]"
    answer = remember(answered[1], KEY)
    assert triggers(answer)["toast"]["text"] == "This is a secret, and secrets are not kept."


def test_what_is_known_says_so_and_has_no_undo(answered, remember, make_fact):
    make_fact("cream cake")
    answer = remember(answered[1], "cream cake")
    assert triggers(answer)["toast"] == {"text": "Already remembered: “cream cake”"}
    assert Fact.objects.get().mention_count == 2


def test_without_scripts_it_leads_back_to_the_conversation(ours, answered):
    data = {"message": str(answered[1].pk), "text": "cream cake"}
    answer = ours.post("/memory/highlight/", data, follow=True)
    assert answer.redirect_chain == [(f"/c/{answered[1].conversation_id}/", 302)]
    assert [str(m) for m in answer.context["messages"]] == ["Remembered “cream cake”"]


def test_a_message_that_is_none_does_not_exist(ours, owner):
    for key in ("", "none", str(uuid.uuid4())):
        assert ours.post("/memory/highlight/", {"message": key, "text": "x"}).status_code == 404


def test_where_from_leads_to_the_message(ours, answered, remember):
    remember(answered[1], "cream cake")
    page = text(ours.get(f"/memory/{Fact.objects.get().pk}/origin/"))
    assert "<blockquote>“cream cake”</blockquote>" in page
    assert f"#m-{answered[1].pk}" in page
