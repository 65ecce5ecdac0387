"""A retried reply replaces the old one; of two concurrent retries one succeeds."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from chat.actions import message_edits
from chat.actions import messages as actions
from chat.errors import Refused
from chat.generation import run as generation
from chat.models import Conversation, Message

from .finished_replies import wait_for_reply

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_retry_replaces_the_old_reply_and_keeps_its_row(ours_htmx, talk, scripted):
    scripted.replies.extend(["First try.", "Second try."])
    asked, old = talk("Hello")
    generation.start(old)
    wait_for_reply(old)
    answer = ours_htmx.post(f"/m/{old.pk}/retry/")
    generation.wait_all()
    shown = list(Message.objects.filter(conversation=asked.conversation).current_branch())
    old.refresh_from_db()
    assert answer.status_code == 200
    assert [m.content for m in shown] == ["Hello", "Second try."]
    assert (old.content, old.replaced_by) == ("First try.", shown[1])
    assert f'id="m-{shown[1].pk}"' in answer.content.decode()


def test_a_retry_uses_the_same_prompt(ours_htmx, talk, scripted):
    _, old = talk("Hello")
    generation.start(old)
    wait_for_reply(old)
    ours_htmx.post(f"/m/{old.pk}/retry/")
    generation.wait_all()
    assert scripted.calls[0].turns == scripted.calls[1].turns


def test_only_the_last_reply_can_be_retried(ours_htmx, talk):
    asked, first = talk("One")
    actions.finish_reply(first, "1", "complete")
    _, second = talk("Two", asked.conversation)
    actions.finish_reply(second, "2", "complete")
    answer = ours_htmx.post(f"/m/{first.pk}/retry/")
    assert answer.status_code == 409
    assert "last reply" in answer.content.decode()
    assert Message.objects.count() == 4


def test_a_user_message_cannot_be_retried(ours_htmx, talk):
    asked, reply = talk("One")
    Message.objects.filter(pk=reply.pk).delete()
    assert ours_htmx.post(f"/m/{asked.pk}/retry/").status_code == 409
    assert list(Message.objects.all()) == [asked]


def test_a_running_reply_cannot_be_retried(ours_htmx, talk):
    _, reply = talk("One")
    assert ours_htmx.post(f"/m/{reply.pk}/retry/").status_code == 409
    assert Message.objects.count() == 2


def run_in_two_threads(work) -> list[str]:
    """Run `work` in two threads that start together; return both outcomes, sorted."""
    barrier, results = threading.Barrier(2), []

    def run() -> None:
        barrier.wait(5)
        try:
            work()
            results.append("done")
        except Refused as refusal:
            results.append(type(refusal).__name__)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return sorted(results)


def test_of_two_concurrent_messages_one_is_refused_as_busy(owner, talk):
    _, reply = talk("Hello")
    actions.finish_reply(reply, "Hi.", "complete")
    conversation = Conversation.objects.get()
    outcome = run_in_two_threads(lambda: actions.send_message(owner, "Again", conversation))
    assert outcome == ["Busy", "done"]
    assert Message.objects.filter(state="streaming").count() == 1
    assert Message.objects.filter(content="Again").count() == 1


def test_of_two_concurrent_retries_one_succeeds(talk):
    _, reply = talk("Hello")
    actions.finish_reply(reply, "Hi.", "complete")
    outcome = run_in_two_threads(lambda: message_edits.retry_reply(reply))
    assert outcome.count("done") == 1
    assert Message.objects.count() == 3
