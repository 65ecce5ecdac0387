"""A message whose answer was lost is sent again by the page with the same key, and is said once."""

from __future__ import annotations

import re

import pytest

from chat.actions.messages import finish_reply
from chat.generation import run as generation
from chat.models import IdempotentRequest, Message

pytestmark = pytest.mark.django_db(transaction=True)


def form_key(page) -> str:
    return re.findall(r'name="key" value="([\w-]+)"', page)[0]


def said() -> list[str]:
    return list(Message.objects.filter(role="user").order_by("seq").values_list("content", flat=True))


@pytest.mark.parametrize("client", ["ours", "ours_htmx"])
def test_a_first_message_sent_twice_opens_one_chat(request, scripted, client):
    page = request.getfixturevalue(client)
    data = {"text": "Hello", "key": form_key(page.get("/").content.decode())}
    first = page.post("/send/", data)
    again = page.post("/send/", data)
    generation.wait_all()
    assert said() == ["Hello"]
    assert Message.objects.count() == 2
    place = "HX-Redirect" if client == "ours_htmx" else "Location"
    assert first.headers[place] == again.headers[place]


def test_a_later_message_sent_twice_is_shown_again_and_said_once(ours, ours_htmx, scripted, talk):
    asked, reply = talk("Hello")
    finish_reply(reply, "Good day.", "complete")
    chat = asked.conversation_id
    data = {
        "text": "How are you?",
        "conversation": str(chat),
        "key": form_key(ours.get(f"/c/{chat}/").content.decode()),
    }
    first = ours_htmx.post("/send/", data).content.decode()
    generation.wait_all()
    again = ours_htmx.post("/send/", data).content.decode()
    assert said() == ["Hello", "How are you?"]
    ids = re.findall(r'<article[^>]* id="m-([\w-]+)"', first)
    assert len(ids) == 2
    assert re.findall(r'<article[^>]* id="m-([\w-]+)"', again) == ids


def test_an_edited_text_and_another_key_are_other_messages(ours_htmx, scripted, talk):
    asked, reply = talk("Hello")
    finish_reply(reply, "Good day.", "complete")
    chat = {"conversation": str(asked.conversation_id)}
    for text, key in (("One", "k" * 20), ("One more", "k" * 20), ("One", "l" * 20)):
        ours_htmx.post("/send/", {"text": text, "key": key, **chat})
        generation.wait_all()
    assert said() == ["Hello", "One", "One more", "One"]


@pytest.mark.parametrize("key", ["", "short", "x" * 65, "a b c d e f g", "<script>alert(1)</script>"])
def test_a_message_without_a_usable_key_is_sent_as_before(ours_htmx, scripted, key):
    assert ours_htmx.post("/send/", {"text": "Hello", "key": key}).status_code == 200
    generation.wait_all()
    assert said() == ["Hello"]
    assert not IdempotentRequest.objects.exists()


def test_a_refused_message_can_be_sent_again_with_its_key(ours_htmx, scripted):
    refused = ours_htmx.post("/send/", {"text": "   ", "key": "k" * 20})
    assert refused.status_code == 422
    assert ours_htmx.post("/send/", {"text": "Hello", "key": "k" * 20}).status_code == 200
    generation.wait_all()
    assert said() == ["Hello"]


def test_the_key_of_another_user_is_another_key(server_mode, owner, other, logged_in, scripted):
    for user in (owner, other):
        logged_in(user).post("/send/", {"text": "Hello", "key": "k" * 20})
    generation.wait_all()
    assert said() == ["Hello", "Hello"]


def test_a_page_that_missed_very_many_messages_is_loaded_anew(ours_htmx, talk, monkeypatch):
    asked, reply = talk("Hello")
    finish_reply(reply, "Good day.", "complete")
    address = f"/c/{asked.conversation_id}/after/0/"
    assert "Good day." in ours_htmx.get(address).content.decode()
    monkeypatch.setattr("chat.views.conversations.PAGE_SIZE", 1)
    assert ours_htmx.get(address).headers["HX-Redirect"] == f"/c/{asked.conversation_id}/"
