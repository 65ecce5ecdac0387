"""The page shows a model's reasoning above its reply; prompts, exports, search and copies leave it out."""

from __future__ import annotations

import json

import httpx2
import pytest
from django.test import Client
from django.urls import reverse

from chat.actions.api_tokens import create_token
from chat.actions.export import export_json
from chat.models import Conversation, Message
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
THOUGHT = "The user may mean the cello."


@pytest.fixture
def reasoner(scripted):
    """A model that can reason, and does where it is asked to."""
    scripted.can_reason, scripted.reasoning = True, THOUGHT
    return scripted


@pytest.fixture
def chat(owner, add_exchange):
    """A conversation in which the model reasons."""
    found = add_exchange("Hello there.")
    Conversation.objects.filter(pk=found.pk).update(use_reasoning=True)
    return found


def send(client, text, conversation):
    """Send a message and return its reply when it has ended."""
    client.post(reverse("message_send"), {"text": text, "conversation": conversation.pk})
    replies = Message.objects.filter(conversation=conversation, role="assistant")
    wait_until(lambda: replies.last().state != "streaming")
    return replies.last()


def test_it_is_stored_beside_the_reply_and_shown_folded(ours, reasoner, chat):
    reply = send(ours, "Which strings?", chat)
    assert (reply.content, reply.reasoning) == ("Understood.", THOUGHT)
    assert reply.reasoning_seconds >= 0
    page = ours.get(chat.get_absolute_url()).content.decode()
    assert page.count('<details class="reasoning') == 1
    assert THOUGHT in page


def test_seconds_are_named(ours, reasoner, chat):
    reply = send(ours, "Which strings?", chat)
    for seconds, words in [
        (0.2, "Thought before"),
        (1.2, "Thought for 1 second<"),
        (12.0, "Thought for 12 seconds"),
    ]:
        Message.objects.filter(pk=reply.pk).update(reasoning_seconds=seconds)
        assert words in ours.get(reverse("message", args=[reply.pk])).content.decode()


def test_a_chat_does_not_reason_unless_its_owner_wants_it(ours, reasoner, add_exchange):
    chat = add_exchange("Hello there.")
    assert send(ours, "Which strings?", chat).reasoning == ""
    assert (
        ours.post(reverse("conversation_reasoning", args=[chat.pk]), {"reasoning": "on"}).status_code == 302
    )
    assert send(ours, "And the bow?", chat).reasoning == THOUGHT
    ours.post(reverse("conversation_reasoning", args=[chat.pk]), {"reasoning": "off"})
    assert send(ours, "And the case?", chat).reasoning == ""


def test_another_value_changes_nothing(ours, reasoner, chat):
    ours.post(reverse("conversation_reasoning", args=[chat.pk]), {"reasoning": "maybe"})
    chat.refresh_from_db()
    assert chat.use_reasoning


@pytest.mark.parametrize("can", [True, False])
def test_the_choice_is_offered_where_the_model_can_reason(ours_htmx, scripted, chat, can):
    scripted.can_reason = can
    menu = ours_htmx.get(reverse("conversation_header_menu", args=[chat.pk])).content.decode()
    assert ("Think before replies" in menu) == can


def test_it_is_in_no_later_prompt_export_or_search(ours, owner, reasoner, chat):
    send(ours, "Which strings?", chat)
    send(ours, "And the bow?", chat)
    prompts = [turn.content for call in reasoner.calls for turn in call.turns]
    assert not any(THOUGHT in text for text in prompts)
    assert THOUGHT.encode() not in b"".join(export_json(owner))
    assert THOUGHT not in ours.get(reverse("search"), {"q": "mean the cello"}).content.decode()


def test_it_is_not_copied_with_the_reply(ours, reasoner, chat):
    reply = send(ours, "Which strings?", chat)
    shown = ours.get(reverse("message", args=[reply.pk])).content.decode()
    raw = shown.partition("<template data-raw>")[2].partition("</template>")[0]
    assert raw == "Understood."


def test_markup_in_it_is_shown_as_text(ours, reasoner, chat):
    reasoner.reasoning = "<script>alert(1)</script>"
    reply = send(ours, "Which strings?", chat)
    shown = ours.get(reverse("message", args=[reply.pk])).content.decode()
    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert" in shown


def test_it_goes_with_its_message(ours, owner, reasoner, chat):
    reply = send(ours, "Which strings?", chat)
    chat.delete()
    assert not Message.objects.filter(pk=reply.pk).exists()


class TestPrograms:
    """A program that speaks OpenAI's protocol gets the reasoning apart from the content."""

    @pytest.fixture
    def ask(self, ours, owner):
        secret = create_token(owner, "a program")

        def ask(**fields):
            body = {"model": "any", "messages": [{"role": "user", "content": "Which strings?"}], **fields}
            headers = {"authorization": f"Bearer {secret}"}
            return Client().post(
                "/v1/chat/completions", json.dumps(body), "application/json", headers=headers
            )

        return ask

    @pytest.mark.parametrize(("effort", "reasons"), [("high", True), ("none", False), (None, False)])
    def test_the_request_says_whether_to_reason(self, reasoner, ask, effort, reasons):
        message = ask(reasoning_effort=effort).json()["choices"][0]["message"]
        assert message["content"] == "Understood."
        assert message.get("reasoning_content") == (THOUGHT if reasons else None)

    def test_a_stream_sends_it_before_the_content(self, address, reasoner, owner):
        secret = create_token(owner, "a program")
        body = {"model": "any", "stream": True, "reasoning_effort": "low"}
        body["messages"] = [{"role": "user", "content": "Which strings?"}]
        headers = {"authorization": f"Bearer {secret}"}
        answer = httpx2.post(f"{address}/v1/chat/completions", json=body, headers=headers, timeout=20)
        events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
        deltas = [event["choices"][0]["delta"] for event in events]
        assert "".join(delta.get("reasoning_content", "") for delta in deltas).strip() == THOUGHT
        assert "".join(delta.get("content", "") for delta in deltas) == "Understood."
        named = [name for delta in deltas for name, text in delta.items() if text and name != "role"]
        assert named.index("reasoning_content") < named.index("content")

    def test_rest_sets_the_choice_of_a_conversation(self, reasoner, owner, chat):
        headers = {"authorization": f"Bearer {create_token(owner, 'a program')}"}
        url = f"/api/conversations/{chat.pk}"
        answer = Client().patch(url, {"use_reasoning": False}, "application/json", headers=headers)
        assert answer.json()["use_reasoning"] is False
        assert Client().get(url, headers=headers).json()["use_reasoning"] is False


class TestCutOff:
    """A reply that has as many tokens as it may have says so, and goes on with one press."""

    NOTE = "This reply reached its greatest length."

    def test_it_is_told_with_a_button_that_goes_on(self, ours, scripted, chat):
        scripted.finish = "length"
        reply = send(ours, "Tell a long story.", chat)
        assert reply.cut_off
        page = ours.get(chat.get_absolute_url()).content.decode()
        assert page.count(self.NOTE) == 1
        assert 'name="text" value="Go on."' in page

    def test_a_whole_reply_says_nothing(self, ours, scripted, chat):
        reply = send(ours, "Tell a short story.", chat)
        assert not reply.cut_off
        assert self.NOTE not in ours.get(chat.get_absolute_url()).content.decode()

    def test_it_is_kept_by_export(self, ours, owner, scripted, chat):
        scripted.finish = "length"
        send(ours, "Tell a long story.", chat)
        assert b'"cut_off": true' in b"".join(export_json(owner)).replace(
            b'"cut_off":true', b'"cut_off": true'
        )
