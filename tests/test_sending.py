"""Sending a message saves it, starts a reply, and loses or duplicates nothing."""

from __future__ import annotations

import pytest

from chat.actions import messages as actions
from chat.generation import run as generation
from chat.models import Job, Message, MessageState


@pytest.mark.django_db(transaction=True)
def test_a_message_gets_a_reply_from_the_model(ours, owner, scripted):
    scripted.replies.append("Hello **Maya**.")
    answer = ours.post("/send/", {"text": "Hi, I'm Maya."})
    generation.wait_all()
    asked, reply = Message.objects.order_by("seq")
    assert answer.url == f"/c/{asked.conversation_id}/"
    assert (asked.role, asked.content) == ("user", "Hi, I'm Maya.")
    assert (reply.state, reply.content) == ("complete", "Hello **Maya**.")
    assert "<strong>Maya</strong>" in ours.get(answer.url).content.decode()


def test_an_empty_message_is_refused_and_changes_nothing(ours_htmx, owner):
    answer = ours_htmx.post("/send/", {"text": "  \n "})
    assert answer.status_code == 422
    assert answer.content.decode() == "Write something first."
    assert not Message.objects.exists()


def test_a_message_during_a_running_reply_is_refused_and_not_saved(ours_htmx, talk):
    asked, _ = talk("First")
    answer = ours_htmx.post("/send/", {"text": "Second", "conversation": str(asked.conversation_id)})
    assert answer.status_code == 409
    assert "still being written" in answer.content.decode()
    assert Message.objects.count() == 2


def test_messages_and_finished_replies_join_one_extraction_job(talk):
    asked, reply = talk("I live in Oslo.")
    actions.finish_reply(reply, "Nice.", MessageState.COMPLETE)
    talk("And I like skiing.", asked.conversation)
    assert Job.objects.get(kind="extract").requests == 3


def test_replies_left_by_a_killed_process_are_stopped_with_their_text(talk):
    _, reply = talk("Tell me a story.")
    actions.save_checkpoint(reply.pk, "Once upon")
    assert actions.stop_stale_replies() == 1
    reply.refresh_from_db()
    assert (reply.state, reply.content) == ("stopped", "Once upon")
    assert "shutdown" in reply.failure
