"""A reply completes, is stopped, fails or waits for its model, and its final state is saved."""

from __future__ import annotations

import threading

import pytest
from django.db import OperationalError

from chat.actions import messages as actions
from chat.errors import ProviderError, Reason, to_english
from chat.generation import reply_end, reply_run
from chat.generation import run as generation
from chat.generation.hub import hub
from chat.jobs import heartbeat
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.models import Message, PromptReport, UsageRecord
from tests.waiting import wait_until

from .finished_replies import wait_for_reply

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def gated(scripted):
    """A scripted model that generates one word for each release of its gate."""
    scripted.gate = threading.Semaphore(0)
    return scripted


def text_so_far(reply: Message) -> str:
    live = hub.snapshot(str(reply.conversation_id))
    return "".join(live["blocks"]) if live else ""


def test_a_reply_completes_and_records_its_usage(talk, scripted):
    scripted.replies.append("All is well.")
    _, reply = talk("How is it?")
    generation.start(reply)
    assert (wait_for_reply(reply).state, reply.content, reply.failure) == ("complete", "All is well.", "")
    report = PromptReport.objects.get(reply=reply)
    assert report.prompt_tokens > 0
    assert report.completion_tokens == 3
    assert report.window == scripted.context_window
    usage = UsageRecord.objects.get()
    assert (usage.purpose, usage.lane, usage.outcome) == ("reply", "chat", "stop")


def test_shutdown_stops_a_reply_and_keeps_its_text(talk, gated):
    gated.replies.append("One two three four")
    _, reply = talk("Count.")
    generation.start(reply)
    gated.gate.release()
    wait_until(lambda: text_so_far(reply))
    generation.stop_all()
    assert (wait_for_reply(reply).state, reply.content.strip()) == ("stopped", "One")
    assert reply.failure == "stopped-by-shutdown"


def test_a_stopped_reply_keeps_its_text_and_offers_a_retry(ours, talk, gated):
    gated.replies.append("One two three four")
    _, reply = talk("Count.")
    generation.start(reply)
    gated.gate.release(2)
    wait_until(lambda: "One two" in text_so_far(reply))
    assert generation.stop(reply.pk)
    assert (wait_for_reply(reply).state, reply.content.strip()) == ("stopped", "One two")
    assert UsageRecord.objects.get().outcome == "cancelled"
    page = ours.get(f"/c/{reply.conversation_id}/").content.decode()
    assert f'action="/m/{reply.pk}/retry/"' in page
    assert to_english(reply.failure) in page


def test_a_message_can_be_sent_right_after_the_stop_response(ours_htmx, talk, gated):
    _, reply = talk("Count.")
    generation.start(reply)
    assert ours_htmx.post(f"/m/{reply.pk}/stop/").status_code == 204
    answer = ours_htmx.post("/send/", {"text": "And now?", "conversation": str(reply.conversation_id)})
    assert answer.status_code == 200


def test_stopping_a_complete_reply_changes_nothing(ours_htmx, talk, scripted):
    _, reply = talk("Hello")
    generation.start(reply)
    assert wait_for_reply(reply).state == "complete"
    assert ours_htmx.post(f"/m/{reply.pk}/stop/").status_code == 204
    assert wait_for_reply(reply).state == "complete"


def test_a_failed_reply_shows_the_providers_message(ours, talk, scripted):
    scripted.replies.append(ProviderError("verbatim", sentence="The model took a break."))
    _, reply = talk("Hello")
    generation.start(reply)
    assert (wait_for_reply(reply).state, to_english(reply.failure)) == ("failed", "The model took a break.")
    assert "The model took a break." in ours.get(f"/c/{reply.conversation_id}/").content.decode()


def test_a_reply_that_fails_halfway_keeps_its_text(talk, scripted, monkeypatch):
    class Broken:
        """A stream that fails after one word."""

        def __init__(self, usage):
            self.usage, self.finish = usage, "stop"

        def __iter__(self):
            yield "Once "
            raise ProviderError("verbatim", sentence="The connection was lost.")

    real = scripted.stream
    monkeypatch.setattr(scripted, "stream", lambda turns, options: Broken(real(turns, options).usage))
    _, reply = talk("A story, please.")
    generation.start(reply)
    assert (wait_for_reply(reply).state, reply.content) == ("failed", "Once ")
    assert to_english(reply.failure) == "The connection was lost."
    assert UsageRecord.objects.get().outcome == "failed"


def test_an_unexpected_error_shows_a_general_message(talk, scripted):
    def raise_error(turns):
        raise ZeroDivisionError("division by zero")

    scripted.replies.append(raise_error)
    _, reply = talk("Hello")
    generation.start(reply)
    assert wait_for_reply(reply).state == "failed"
    assert "zero" not in to_english(reply.failure)
    assert "Your message is saved" in to_english(reply.failure)


def test_a_reply_without_a_model_fails_with_the_reason(talk):
    registry.set_status(ModelStatus(ModelState.MISSING, reason=Reason("no-model")))
    _, reply = talk("Hello")
    generation.start(reply)
    assert (wait_for_reply(reply).state, reply.failure) == ("failed", "no-model")


def test_a_reply_waits_while_the_model_loads(talk, scripted):
    registry.set_status(ModelStatus(ModelState.LOADING, reason=Reason("model-loading")))
    scripted.replies.append("There you are.")
    _, reply = talk("Hello")
    generation.start(reply)
    assert generation.count_running() == 1
    reply.refresh_from_db()
    assert reply.state == "streaming"
    registry.use(scripted)
    assert (wait_for_reply(reply).state, reply.content) == ("complete", "There you are.")


def test_a_reply_waiting_for_its_model_can_be_stopped(talk):
    registry.set_status(ModelStatus(ModelState.LOADING, reason=Reason("model-loading")))
    _, reply = talk("Hello")
    generation.start(reply)
    generation.stop(reply.pk)
    assert (wait_for_reply(reply).state, reply.content) == ("stopped", "")


def test_a_reply_whose_message_was_deleted_ends(talk, scripted):
    _, reply = talk("Hello")
    Message.objects.all().delete()
    generation.start(reply)
    generation.wait_all()
    assert generation.count_running() == 0
    assert hub.snapshot(str(reply.conversation_id)) is None


def test_text_is_saved_while_the_reply_is_running(talk, gated, monkeypatch):
    monkeypatch.setattr(reply_run, "CHECKPOINT_SECONDS", 0.0)
    gated.replies.append("One two three")
    _, reply = talk("Count.")
    generation.start(reply)
    gated.gate.release(2)
    wait_until(lambda: Message.objects.get(pk=reply.pk).content == "One two ")
    assert Message.objects.get(pk=reply.pk).state == "streaming"


def lock_database(monkeypatch, times):
    """Make saving the end of a reply fail the given number of times with a locked database."""
    real, left = actions.finish_reply, [times]

    def refuse(*args, **kwargs):
        if left[0]:
            left[0] -= 1
            raise OperationalError("database is locked")
        return real(*args, **kwargs)

    monkeypatch.setattr(actions, "finish_reply", refuse)
    monkeypatch.setattr(reply_end, "_PAUSE_SECONDS", 0)


def test_saving_the_end_is_retried_when_the_database_is_locked(talk, scripted, monkeypatch):
    lock_database(monkeypatch, 2)
    _, reply = talk("Hello")
    generation.start(reply)
    assert (wait_for_reply(reply).state, reply.content) == ("complete", "Understood.")


@pytest.mark.parametrize("look", ["page", "message", "send"])
def test_an_unsaved_end_is_saved_by_the_next_request(ours_htmx, talk, scripted, monkeypatch, look):
    lock_database(monkeypatch, 4)
    _, reply = talk("Hello")
    generation.start(reply)
    assert wait_for_reply(reply).state == "streaming"
    if look == "page":
        answer = ours_htmx.get(f"/c/{reply.conversation_id}/")
    elif look == "message":
        answer = ours_htmx.get(f"/m/{reply.pk}/")
    else:
        answer = ours_htmx.post("/send/", {"text": "More", "conversation": str(reply.conversation_id)})
    assert answer.status_code == 200
    assert (wait_for_reply(reply).state, reply.content) == ("complete", "Understood.")


def test_an_unsaved_end_is_saved_without_a_request_where_another_process_may_get_it(
    talk, scripted, monkeypatch
):
    lock_database(monkeypatch, 4)
    _, reply = talk("Hello")
    generation.start(reply)
    assert wait_for_reply(reply).state == "streaming"
    heartbeat.follow_others()
    assert (wait_for_reply(reply).state, reply.content) == ("complete", "Understood.")


def test_a_failing_checkpoint_does_not_stop_the_reply(talk, scripted, monkeypatch):
    def refuse(*args):
        raise OperationalError("database is locked")

    monkeypatch.setattr(actions, "save_checkpoint", refuse)
    monkeypatch.setattr(reply_run, "CHECKPOINT_SECONDS", 0.0)
    _, reply = talk("Hello")
    generation.start(reply)
    assert (wait_for_reply(reply).state, reply.content) == ("complete", "Understood.")


def test_starting_a_reply_twice_generates_it_once(talk, gated):
    _, reply = talk("Hello")
    generation.start(reply)
    generation.start(reply)
    assert generation.count_running() == 1
    gated.gate.release(10)
    assert wait_for_reply(reply).state == "complete"
    assert len(gated.calls) == 1


def test_await_end_of_a_reply_that_no_thread_has_begun_waits_for_its_end(talk, scripted, monkeypatch):
    _, reply = talk("How is it?")
    let_go = threading.Event()
    for _ in range(generation.MOST_REPLY_THREADS):
        generation.line.pool.submit(let_go.wait, 10)
    generation.start(reply)
    generation.await_end(reply.pk, 0.1)
    assert generation.find_run(reply.pk) is not None
    let_go.set()
    generation.await_end(reply.pk, 10)
    reply.refresh_from_db()
    assert reply.state == "complete"


def test_await_begin_waits_for_a_start_by_another_request(talk, gated):
    _, reply = talk("How is it?")
    assert generation.await_begin(reply, timeout=0.1) is None
    threading.Timer(0.2, generation.start, [reply]).start()
    run = generation.await_begin(reply, timeout=10)
    assert run is not None
    assert run is generation.find_run(reply.pk)
    gated.gate.release(100)
    assert wait_for_reply(reply).state == "complete"
    assert generation.await_begin(reply, timeout=10) is None
