"""Replies from a remote model server, also when the server fails and returns."""

from __future__ import annotations

import threading

import pytest

from chat.errors import Reason
from chat.generation import reply_run
from chat.generation import run as generation
from chat.llm.model_status import ModelState
from chat.llm.registry import registry
from chat.llm.remote import provider as remote_provider
from chat.llm.remote.address import parse_address
from chat.llm.remote.provider import RemoteProvider
from chat.models import MessageState
from tests.llm.remote.fake_server import chat_endpoint, only_when_streamed, run_fake_server, stream_pieces
from tests.waiting import wait_until

from .finished_replies import wait_for_reply

pytestmark = pytest.mark.django_db(transaction=True)
MODELS = {"data": [{"id": "m"}]}


@pytest.fixture
def connect_to(monkeypatch):
    """Return a function that connects to a server; retries have no delay."""
    monkeypatch.setattr(remote_provider, "_PAUSES", (0.0,))
    monkeypatch.setattr(reply_run, "_REACHING_SECONDS", 0.5)

    def connect(server):
        registry.connect(RemoteProvider(parse_address(server.url)))
        assert registry.wait_ready(10)

    yield connect
    registry.set_failed(Reason("verbatim", {"sentence": "The test is over."}))


def test_a_reply_is_generated_by_the_server(talk, connect_to):
    with run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("All is well.")) as server:
        connect_to(server)
        _, reply = talk("How is it?")
        generation.start(reply)
        assert (wait_for_reply(reply).state, reply.content) == (MessageState.COMPLETE, "All is well.")


def test_replies_fail_during_an_outage_and_succeed_afterwards(talk, connect_to):
    is_up = threading.Event()
    is_up.set()

    def list_models(body):
        return MODELS if is_up.is_set() else (503, {})

    def respond(body):
        return chat_endpoint("Here again.")(body) if is_up.is_set() else (503, {})

    with run_fake_server(v1__models=list_models, v1__chat__completions=respond) as server:
        connect_to(server)
        is_up.clear()
        asked, reply = talk("Are you there?")
        generation.start(reply)
        assert wait_for_reply(reply).state == MessageState.FAILED
        assert reply.failure == "server-busy"
        wait_until(lambda: registry.status().state is ModelState.AWAY)
        _, second = talk("And now?", asked.conversation)
        generation.start(second)
        assert wait_for_reply(second).failure == reply.failure
        is_up.set()
        _, third = talk("And now?", asked.conversation)
        generation.start(third)
        assert (wait_for_reply(third).state, third.content) == (MessageState.COMPLETE, "Here again.")


def test_a_lost_connection_keeps_the_received_text(talk, connect_to):
    endpoint = only_when_streamed(lambda body: stream_pieces("Once ", "upon", then=[None]))
    with run_fake_server(v1__models=MODELS, v1__chat__completions=endpoint) as server:
        connect_to(server)
        _, reply = talk("Tell me a story.")
        generation.start(reply)
        assert (wait_for_reply(reply).state, reply.content) == (MessageState.FAILED, "Once upon")
        assert reply.failure == "server-connection-lost"


def test_a_running_reply_finishes_with_the_model_it_started_with(talk, connect_to):
    started, released = threading.Event(), threading.Event()

    def slow(body):
        started.set()
        yield from stream_pieces("Begun ")
        released.wait(10)
        yield from stream_pieces("and ended.", then=[{"choices": [{"delta": {}, "finish_reason": "stop"}]}])

    with (
        run_fake_server(v1__models=MODELS, v1__chat__completions=only_when_streamed(slow)) as first,
        run_fake_server(v1__models=MODELS, v1__chat__completions=chat_endpoint("The other one.")) as second,
    ):
        connect_to(first)
        asked, reply = talk("Begin.")
        generation.start(reply)
        assert started.wait(10)
        connect_to(second)
        released.set()
        assert (wait_for_reply(reply).state, reply.content) == (MessageState.COMPLETE, "Begun and ended.")
        _, later = talk("Who are you?", asked.conversation)
        generation.start(later)
        assert wait_for_reply(later).content == "The other one."
