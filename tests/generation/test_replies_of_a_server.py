"""Replies of a model on a server: nothing is lost when it goes away, and they go on when it is back."""

from __future__ import annotations

import threading

import pytest

from chat.generation import run as generation
from chat.generation import writing
from chat.llm.registry import registry
from chat.llm.remote import provider as remote_provider
from chat.llm.remote.address import parse
from chat.llm.remote.provider import RemoteProvider
from chat.llm.state import ModelState
from chat.models import MessageState
from tests.llm.remote.pretend import after_the_probe, chat, pretending, words
from tests.waiting import until

from .replying import ended

pytestmark = pytest.mark.django_db(transaction=True)
MODELS = {"data": [{"id": "m"}]}


@pytest.fixture
def using(monkeypatch):
    """Returns a user of servers, with no pauses between tries."""
    monkeypatch.setattr(remote_provider, "_PAUSES", (0.0,))
    monkeypatch.setattr(writing, "_REACHING_SECONDS", 0.5)

    def use(server):
        registry.connect(RemoteProvider(parse(server.url)))
        assert registry.wait_ready(10)

    yield use
    registry.fail("The test is over.")


def test_a_reply_comes_from_the_server_with_its_costs(talk, using):
    with pretending(v1__models=MODELS, v1__chat__completions=chat("All is well.")) as server:
        using(server)
        _, reply = talk("How is it?")
        generation.start(reply)
        assert (ended(reply).state, reply.content) == (MessageState.COMPLETE, "All is well.")


def test_a_server_that_goes_away_leaves_the_message_saved_and_a_retry_gets_through(talk, using):
    here = threading.Event()
    here.set()

    def listed(body):
        return MODELS if here.is_set() else (503, {})

    def answers(body):
        return chat("Here again.")(body) if here.is_set() else (503, {})

    with pretending(v1__models=listed, v1__chat__completions=answers) as server:
        using(server)
        here.clear()
        asked, reply = talk("Are you there?")
        generation.start(reply)
        assert ended(reply).state == MessageState.FAILED
        assert reply.failure == "The model's server has too much to do. Try again in a moment."
        until(lambda: registry.status().state is ModelState.AWAY)
        _, second = talk("And now?", asked.conversation)
        generation.start(second)
        assert ended(second).failure == reply.failure
        here.set()
        _, third = talk("And now?", asked.conversation)
        generation.start(third)
        assert (ended(third).state, third.content) == (MessageState.COMPLETE, "Here again.")


def test_a_line_that_breaks_keeps_what_had_come(talk, using):
    endpoint = after_the_probe(lambda body: words("Once ", "upon", then=[None]))
    with pretending(v1__models=MODELS, v1__chat__completions=endpoint) as server:
        using(server)
        _, reply = talk("Tell me a story.")
        generation.start(reply)
        assert (ended(reply).state, reply.content) == (MessageState.FAILED, "Once upon")
        assert reply.failure == "The connection to the model broke off. What had come is kept."


def test_a_reply_that_was_begun_ends_with_the_model_it_began_with(talk, using):
    begun, held = threading.Event(), threading.Event()

    def slow(body):
        begun.set()
        yield from words("Begun ")
        held.wait(10)
        yield from words("and ended.", then=[{"choices": [{"delta": {}, "finish_reason": "stop"}]}])

    with (
        pretending(v1__models=MODELS, v1__chat__completions=after_the_probe(slow)) as first,
        pretending(v1__models=MODELS, v1__chat__completions=chat("The other one.")) as second,
    ):
        using(first)
        asked, reply = talk("Begin.")
        generation.start(reply)
        assert begun.wait(10)
        using(second)
        held.set()
        assert (ended(reply).state, reply.content) == (MessageState.COMPLETE, "Begun and ended.")
        _, later = talk("Who are you?", asked.conversation)
        generation.start(later)
        assert ended(later).content == "The other one."
