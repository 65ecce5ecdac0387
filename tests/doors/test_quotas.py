"""Every entry refuses what is beyond a person's limits, says when it is possible, and changes nothing."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from chat.actions import quotas
from chat.actions.api_tokens import create_token
from chat.actions.conversations import create_conversation
from chat.generation import run as generation
from chat.models import Conversation, Fact, Message
from tests.full_token import create_full_token

pytestmark = pytest.mark.django_db(transaction=True)
SENTENCE = "Messages a minute are limited to 1 for each person. Try again in"


@pytest.fixture
def chat(server_mode, owner, scripted):
    """A conversation of a person who has sent the last message of this minute."""
    server_mode.QUOTA_MESSAGES_A_MINUTE = 1
    found = create_conversation(owner)
    from chat.actions.messages import send_message

    generation.begin_exchange(owner, lambda: send_message(owner, "Hello", found))
    generation.wait_all()
    return found


@pytest.fixture
def unchanged(chat):
    """Checks at the end that no message, conversation or fact came or went."""
    before = count_rows()
    yield chat
    generation.wait_all()
    assert count_rows() == before


def count_rows() -> list[int]:
    return [model.objects.count() for model in (Message, Conversation, Fact)]


def test_a_message_of_the_page_is_refused_with_a_toast(unchanged, owner, logged_in):
    page = logged_in(owner)
    sent = {"text": "One more", "conversation": unchanged.pk}
    answer = page.post(reverse("message_send"), sent, headers={"hx-request": "true"})
    assert answer.status_code == 429
    assert SENTENCE in json.loads(answer.headers["HX-Trigger"])["toast"]["text"]
    plain = page.post(reverse("message_send"), sent)
    assert plain.status_code == 429
    assert SENTENCE in plain.content.decode()
    assert "One more" in plain.content.decode()


@pytest.mark.parametrize("command", ["/remember I like tea", "/unlearn tea"])
def test_a_command_that_uses_the_model_is_refused(unchanged, owner, logged_in, command):
    answer = logged_in(owner).post(reverse("message_send"), {"text": command}, headers={"hx-request": "true"})
    assert answer.status_code == 429


def test_a_command_that_only_shows_something_is_not_refused(unchanged, owner, logged_in):
    answer = logged_in(owner).post(
        reverse("message_send"), {"text": "/memories"}, headers={"hx-request": "true"}
    )
    assert answer.status_code == 204


@pytest.mark.parametrize("name", ["reply_retry", "message_edit"])
def test_retrying_and_editing_are_refused(unchanged, owner, logged_in, name):
    role = "assistant" if name == "reply_retry" else "user"
    message = Message.objects.get(role=role)
    answer = logged_in(owner).post(
        reverse(name, args=[message.pk]), {"text": "Hi"}, headers={"hx-request": "true"}
    )
    assert answer.status_code == 429
    message.refresh_from_db()
    assert message.replaced_by_id is None


def test_the_rest_interface_answers_429_and_when_to_try_again(unchanged, owner):
    headers = {"authorization": f"Bearer {create_full_token(owner, 'a program')}"}
    user, reply = Message.objects.order_by("seq")
    for path, body in (
        (f"conversations/{unchanged.pk}/messages", {"content": "One more"}),
        (f"messages/{reply.pk}/retry", {}),
        (f"messages/{user.pk}/resend", {"content": "Hi"}),
        ("extract", {"text": "I like tea and walks by the sea."}),
    ):
        answer = Client(headers=headers).post(f"/api/{path}", body, content_type="application/json")
        assert (path, answer.status_code) == (path, 429)
        assert SENTENCE in answer.json()["detail"]
        assert 1 <= int(answer.headers["Retry-After"]) <= 60


@pytest.mark.parametrize("stream", [False, True])
def test_openais_interface_answers_429_in_its_own_format(unchanged, owner, stream):
    headers = {"authorization": f"Bearer {create_token(owner, 'a program')}"}
    body = {"model": "any", "stream": stream, "messages": [{"role": "user", "content": "One more"}]}
    answer = Client(headers=headers).post("/v1/chat/completions", body, content_type="application/json")
    assert answer.status_code == 429
    assert answer.json()["error"]["code"] == "rate_limit_exceeded"
    assert SENTENCE in answer.json()["error"]["message"]
    assert 1 <= int(answer.headers["Retry-After"]) <= 60


def test_storing_messages_by_a_program_is_not_limited(chat, owner):
    headers = {"authorization": f"Bearer {create_token(owner, 'a program')}"}
    answer = Client(headers=headers).post(
        f"/api/conversations/{chat.pk}/messages",
        {"content": "Hello", "reply": False},
        content_type="application/json",
    )
    assert answer.status_code == 201


@pytest.fixture
def imported(server_mode, owner):
    """A person who has made the last import of the day."""
    server_mode.QUOTA_IMPORTS_A_DAY = 1
    with quotas.count_import(owner):
        pass


def make_file() -> SimpleUploadedFile:
    content = {"title": "Old", "messages": [{"role": "user", "content": "Hello"}]}
    return SimpleUploadedFile("chats.json", json.dumps([content]).encode(), "application/json")


def test_an_import_of_the_page_is_refused_before_the_file_is_read(imported, owner, logged_in):
    answer = logged_in(owner).post(reverse("import_upload"), {"file": make_file()}, follow=True)
    assert "Imports a day are limited to 1 for each person." in answer.content.decode()
    assert not Conversation.objects.exists()


def test_an_import_by_a_program_is_refused_and_a_dry_run_is_not(imported, owner):
    client = Client(headers={"authorization": f"Bearer {create_full_token(owner, 'a program')}"})
    answer = client.post("/api/import", {"file": make_file()})
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 3600
    assert client.post("/api/import?dry_run=true", {"file": make_file()}).status_code in (200, 422)
    assert not Conversation.objects.exists()


def test_in_local_mode_no_entry_is_limited(owner, ours, scripted, settings):
    settings.QUOTA_MESSAGES_A_MINUTE = 1
    for _ in range(3):
        assert ours.post(reverse("message_send"), {"text": "Hello"}).status_code == 302
    generation.wait_all()
