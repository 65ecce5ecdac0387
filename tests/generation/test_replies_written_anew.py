"""A reply written anew takes the old one's place, and of two at once one wins."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from chat.actions import branches
from chat.actions import messages as actions
from chat.generation import run as generation
from chat.models import Conversation, Message

from .replying import ended

pytestmark = pytest.mark.django_db(transaction=True)


def test_retry_puts_a_new_reply_in_the_place_of_the_old_one_and_keeps_it(ours_htmx, talk, scripted):
    scripted.replies.extend(["First try.", "Second try."])
    asked, old = talk("Hello")
    generation.start(old)
    ended(old)
    answer = ours_htmx.post(f"/m/{old.pk}/retry/")
    generation.wait()
    shown = list(Message.objects.filter(conversation=asked.conversation).shown())
    old.refresh_from_db()
    assert answer.status_code == 200
    assert [m.content for m in shown] == ["Hello", "Second try."]
    assert (old.content, old.replaced_by) == ("First try.", shown[1])
    assert f'id="m-{shown[1].pk}"' in answer.content.decode()


def test_a_retried_reply_is_asked_with_the_same_prompt(ours_htmx, talk, scripted):
    _, old = talk("Hello")
    generation.start(old)
    ended(old)
    ours_htmx.post(f"/m/{old.pk}/retry/")
    generation.wait()
    assert scripted.calls[0].turns == scripted.calls[1].turns


def test_only_the_last_reply_can_be_written_anew(ours_htmx, talk):
    asked, first = talk("One")
    actions.finish_reply(first, "1", "complete")
    _, second = talk("Two", asked.conversation)
    actions.finish_reply(second, "2", "complete")
    answer = ours_htmx.post(f"/m/{first.pk}/retry/")
    assert answer.status_code == 409
    assert "last reply" in answer.content.decode()
    assert Message.objects.count() == 4


def test_a_users_message_cannot_be_written_anew(ours_htmx, talk):
    asked, reply = talk("One")
    Message.objects.filter(pk=reply.pk).delete()
    assert ours_htmx.post(f"/m/{asked.pk}/retry/").status_code == 409
    assert list(Message.objects.all()) == [asked]


def test_a_reply_that_is_being_written_cannot_be_written_anew(ours_htmx, talk):
    _, reply = talk("One")
    assert ours_htmx.post(f"/m/{reply.pk}/retry/").status_code == 409
    assert Message.objects.count() == 2


def in_two_threads(work) -> list[str]:
    """Do the same in two threads that begin at once; returns what each came to, sorted."""
    barrier, results = threading.Barrier(2), []

    def run() -> None:
        barrier.wait(5)
        try:
            work()
            results.append("done")
        except actions.Refused as refusal:
            results.append(type(refusal).__name__)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return sorted(results)


def test_of_two_messages_sent_at_once_one_is_answered_and_one_is_told_to_wait(owner, talk):
    _, reply = talk("Hello")
    actions.finish_reply(reply, "Hi.", "complete")
    conversation = Conversation.objects.get()
    outcome = in_two_threads(lambda: actions.send_message(owner, "Again", conversation))
    assert outcome == ["Busy", "done"]
    assert Message.objects.filter(state="streaming").count() == 1
    assert Message.objects.filter(content="Again").count() == 1


def test_of_two_retries_at_once_one_wins(talk):
    _, reply = talk("Hello")
    actions.finish_reply(reply, "Hi.", "complete")
    outcome = in_two_threads(lambda: branches.retry_reply(reply))
    assert outcome.count("done") == 1
    assert Message.objects.count() == 3
