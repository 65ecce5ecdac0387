"""A model's reasoning is shown folded with its reply, and is in nothing that is made from the reply."""

from __future__ import annotations

import pytest
from django.urls import reverse

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
