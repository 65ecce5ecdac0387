"""The life of a reply: it completes, is stopped, fails, waits for its model, and its end is saved."""

from __future__ import annotations

import threading

import pytest
from django.db import OperationalError

from chat.actions import messages as actions
from chat.generation import run as generation
from chat.generation import writing
from chat.generation.hub import hub
from chat.llm.registry import registry
from chat.llm.state import ModelState, Status
from chat.llm.types import ProviderError
from chat.models import Message, PromptReport, UsageRecord
from tests.waiting import until

from .replying import ended

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def gated(scripted):
    """A model that writes a word each time its gate is released."""
    scripted.gate = threading.Semaphore(0)
    return scripted


def text_so_far(reply: Message) -> str:
    live = hub.snapshot(str(reply.conversation_id))
    return "".join(live["blocks"]) if live else ""


def test_a_reply_completes_and_says_what_it_cost(talk, scripted):
    scripted.replies.append("All is well.")
    _, reply = talk("How is it?")
    generation.start(reply)
    assert (ended(reply).state, reply.content, reply.failure) == ("complete", "All is well.", "")
    report = PromptReport.objects.get(reply=reply)
    assert report.prompt_tokens > 0
    assert report.completion_tokens == 3
    assert report.window == scripted.context_window
    usage = UsageRecord.objects.get()
    assert (usage.purpose, usage.lane, usage.outcome) == ("reply", "chat", "stop")


def test_the_end_of_the_program_keeps_the_text_and_is_not_taken_for_the_users_wish(talk, gated):
    gated.replies.append("One two three four")
    _, reply = talk("Count.")
    generation.start(reply)
    gated.gate.release()
    until(lambda: text_so_far(reply))
    generation.drain()
    assert (ended(reply).state, reply.content.strip()) == ("stopped", "One")
    assert reply.failure == "memoryapp was closed while this was being written."


def test_a_stopped_reply_keeps_its_text_and_offers_to_be_written_anew(ours, talk, gated):
    gated.replies.append("One two three four")
    _, reply = talk("Count.")
    generation.start(reply)
    gated.gate.release(2)
    until(lambda: "One two" in text_so_far(reply))
    assert generation.stop(reply.pk)
    assert (ended(reply).state, reply.content.strip()) == ("stopped", "One two")
    assert UsageRecord.objects.get().outcome == "cancelled"
    page = ours.get(f"/c/{reply.conversation_id}/").content.decode()
    assert f'action="/m/{reply.pk}/retry/"' in page
    assert reply.failure in page


def test_the_next_message_can_be_sent_as_soon_as_stop_has_answered(ours_htmx, talk, gated):
    _, reply = talk("Count.")
    generation.start(reply)
    assert ours_htmx.post(f"/m/{reply.pk}/stop/").status_code == 204
    answer = ours_htmx.post("/send/", {"text": "And now?", "conversation": str(reply.conversation_id)})
    assert answer.status_code == 200


def test_stopping_what_is_not_being_written_changes_nothing(ours_htmx, talk, scripted):
    _, reply = talk("Hello")
    generation.start(reply)
    assert ended(reply).state == "complete"
    assert ours_htmx.post(f"/m/{reply.pk}/stop/").status_code == 204
    assert ended(reply).state == "complete"


def test_a_reply_fails_with_the_sentence_of_its_provider(ours, talk, scripted):
    scripted.replies.append(ProviderError("The model took a break."))
    _, reply = talk("Hello")
    generation.start(reply)
    assert (ended(reply).state, reply.failure) == ("failed", "The model took a break.")
    assert "The model took a break." in ours.get(f"/c/{reply.conversation_id}/").content.decode()


def test_a_model_that_fails_half_way_leaves_what_it_had_written(talk, scripted, monkeypatch):
    class Broken:
        """A stream that dies after one word."""

        def __init__(self, usage):
            self.usage, self.finish = usage, "stop"

        def __iter__(self):
            yield "Once "
            raise ProviderError("The connection was lost.")

    real = scripted.stream
    monkeypatch.setattr(scripted, "stream", lambda turns, **how: Broken(real(turns, **how).usage))
    _, reply = talk("A story, please.")
    generation.start(reply)
    assert (ended(reply).state, reply.content) == ("failed", "Once ")
    assert reply.failure == "The connection was lost."
    assert UsageRecord.objects.get().outcome == "failed"


def test_an_unexpected_error_becomes_a_plain_sentence(talk, scripted):
    def bug(turns):
        raise ZeroDivisionError("division by zero")

    scripted.replies.append(bug)
    _, reply = talk("Hello")
    generation.start(reply)
    assert ended(reply).state == "failed"
    assert "zero" not in reply.failure
    assert "Your message is saved" in reply.failure


def test_a_reply_without_a_model_fails_with_the_reason(talk):
    registry._set(Status(ModelState.MISSING, sentence="The model's file is missing."))
    _, reply = talk("Hello")
    generation.start(reply)
    assert (ended(reply).state, reply.failure) == ("failed", "The model's file is missing.")


def test_a_reply_waits_while_the_model_loads(talk, scripted):
    registry._set(Status(ModelState.LOADING, sentence="The model is loading."))
    scripted.replies.append("There you are.")
    _, reply = talk("Hello")
    generation.start(reply)
    assert generation.running() == 1
    reply.refresh_from_db()
    assert reply.state == "streaming"
    registry.use(scripted)
    assert (ended(reply).state, reply.content) == ("complete", "There you are.")


def test_a_reply_that_waits_for_its_model_can_be_stopped(talk):
    registry._set(Status(ModelState.LOADING, sentence="The model is loading."))
    _, reply = talk("Hello")
    generation.start(reply)
    generation.stop(reply.pk)
    assert (ended(reply).state, reply.content) == ("stopped", "")


def test_a_reply_whose_message_has_gone_holds_nothing_up(talk, scripted):
    _, reply = talk("Hello")
    Message.objects.all().delete()
    generation.start(reply)
    generation.wait()
    assert generation.running() == 0
    assert hub.snapshot(str(reply.conversation_id)) is None


def test_text_is_saved_while_it_is_written(talk, gated, monkeypatch):
    monkeypatch.setattr(writing, "CHECKPOINT_SECONDS", 0.0)
    gated.replies.append("One two three")
    _, reply = talk("Count.")
    generation.start(reply)
    gated.gate.release(2)
    until(lambda: Message.objects.get(pk=reply.pk).content == "One two ")
    assert Message.objects.get(pk=reply.pk).state == "streaming"


def locked(monkeypatch, times):
    """Let the database refuse the end of a reply so many times."""
    real, left = actions.finish_reply, [times]

    def refuse(*args, **kwargs):
        if left[0]:
            left[0] -= 1
            raise OperationalError("database is locked")
        return real(*args, **kwargs)

    monkeypatch.setattr(actions, "finish_reply", refuse)
    monkeypatch.setattr(writing, "_PAUSE_SECONDS", 0)


def test_an_end_that_the_database_refuses_is_saved_a_moment_later(talk, scripted, monkeypatch):
    locked(monkeypatch, 2)
    _, reply = talk("Hello")
    generation.start(reply)
    assert (ended(reply).state, reply.content) == ("complete", "Understood.")


@pytest.mark.parametrize("look", ["page", "message", "send"])
def test_an_end_that_could_not_be_saved_is_saved_when_somebody_looks(
    ours_htmx, talk, scripted, monkeypatch, look
):
    locked(monkeypatch, 4)
    _, reply = talk("Hello")
    generation.start(reply)
    assert ended(reply).state == "streaming"
    if look == "page":
        answer = ours_htmx.get(f"/c/{reply.conversation_id}/")
    elif look == "message":
        answer = ours_htmx.get(f"/m/{reply.pk}/")
    else:
        answer = ours_htmx.post("/send/", {"text": "More", "conversation": str(reply.conversation_id)})
    assert answer.status_code == 200
    assert (ended(reply).state, reply.content) == ("complete", "Understood.")


def test_text_that_cannot_be_saved_on_the_way_stops_no_reply(talk, scripted, monkeypatch):
    def refuse(*args):
        raise OperationalError("database is locked")

    monkeypatch.setattr(actions, "checkpoint", refuse)
    monkeypatch.setattr(writing, "CHECKPOINT_SECONDS", 0.0)
    _, reply = talk("Hello")
    generation.start(reply)
    assert (ended(reply).state, reply.content) == ("complete", "Understood.")


def test_starting_a_reply_twice_writes_it_once(talk, gated):
    _, reply = talk("Hello")
    generation.start(reply)
    generation.start(reply)
    assert generation.running() == 1
    gated.gate.release(10)
    assert ended(reply).state == "complete"
    assert len(gated.calls) == 1


def test_whoever_waits_for_a_reply_that_is_just_beginning_waits_for_its_end(talk, scripted, monkeypatch):
    _, reply = talk("How is it?")
    begin, waiting, broken = threading.Thread.start, [], []

    def wait() -> None:
        try:
            generation.await_end(reply.pk, 10)
        except RuntimeError as error:
            broken.append(error)

    def begin_late(thread: threading.Thread) -> None:
        if thread.name.startswith("reply-"):
            waiting.append(threading.Thread(target=wait))
            begin(waiting[0])
            waiting[0].join(0.3)
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", begin_late)
    generation.start(reply)
    waiting[0].join(10)
    assert broken == []
    assert ended(reply).state == "complete"


def test_a_reply_that_another_request_is_about_to_begin_is_waited_for(talk, gated):
    _, reply = talk("How is it?")
    assert generation.await_begin(reply, patience=0.1) is None
    threading.Timer(0.2, generation.start, [reply]).start()
    run = generation.await_begin(reply, patience=10)
    assert run is not None
    assert run is generation.writing(reply.pk)
    gated.gate.release(100)
    assert ended(reply).state == "complete"
    assert generation.await_begin(reply, patience=10) is None
