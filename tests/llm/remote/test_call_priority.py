"""The order of calls to a server, and how a call ends that is pre-empted, stopped or closed."""

from __future__ import annotations

import threading

import pytest

from chat.errors import Unfinished
from chat.llm import meter
from chat.llm.types import GenerationOptions, Lane, StopFlag, Turn
from tests.waiting import wait_until

from .fake_server import (
    MODELS,
    STORY_TURNS,
    chat_endpoint,
    only_when_streamed,
    run_fake_server,
    stream_pieces,
)


def test_waiting_calls_are_served_by_priority(connected):
    let_go, order = threading.Event(), []

    def endpoint(body):
        order.append(body["messages"][-1]["content"])
        if len(order) == 1:
            let_go.wait(10)
        return chat_endpoint("Done.")(body)

    with run_fake_server(v1__models=MODELS, v1__chat__completions=only_when_streamed(endpoint)) as server:
        provider = connected(server)
        provider.servers[0].places.capacity = 1

        def ask(lane, text):
            thread = threading.Thread(
                target=lambda: provider.complete(
                    [Turn("user", text)], GenerationOptions(slot=text, lane=lane, max_tokens=9)
                )
            )
            thread.start()
            wait_until(
                lambda: len(provider._queue._waiting) + len(provider._queue.active) == len(threads) + 1
            )
            threads.append(thread)

        threads: list[threading.Thread] = []
        ask(Lane.CHAT, "first")
        wait_until(lambda: order == ["first"])
        for lane, text in ((Lane.BACKGROUND, "third"), (Lane.INTERACTIVE, "second"), (Lane.CHAT, "chat")):
            ask(lane, text)
        let_go.set()
        for thread in threads:
            thread.join(10)
    assert order == ["first", "chat", "second", "third"]
    meter.background.take()


def test_stop_ends_a_waiting_call_and_an_unanswered_one(connected):
    never, begun = threading.Event(), threading.Event()

    def endpoint(body):
        begun.set()
        never.wait(10)
        return chat_endpoint("Too late.")(body)

    with run_fake_server(v1__models=MODELS, v1__chat__completions=only_when_streamed(endpoint)) as server:
        provider = connected(server)
        provider.servers[0].places.capacity = 1
        stops, ended = [StopFlag(), StopFlag()], []

        def ask(stop):
            stream = provider.stream(STORY_TURNS, GenerationOptions.for_reply("s", stop=stop))
            ended.append((list(stream), stream.finish))

        threads = [threading.Thread(target=ask, args=(stop,)) for stop in stops]
        threads[0].start()
        assert begun.wait(10)
        threads[1].start()
        wait_until(lambda: provider._queue._waiting)
        for stop in stops:
            stop.set()
        for thread in threads:
            thread.join(5)
        assert ended == [([], "cancelled"), ([], "cancelled")]
        never.set()


def test_closing_ends_a_completion_with_an_error_and_a_reply_with_its_text(connected):
    held = threading.Event()

    def slow(body):
        yield from stream_pieces("Once ")
        held.wait(10)

    with run_fake_server(v1__models=MODELS, v1__chat__completions=only_when_streamed(slow)) as server:
        provider = connected(server)
        ended, pieces = [], []

        def whole():
            with pytest.raises(Unfinished):
                provider.complete(STORY_TURNS, GenerationOptions(slot="b", lane=Lane.CHAT))
            ended.append("whole")

        def reply():
            stream = provider.stream(STORY_TURNS, GenerationOptions.for_reply("s"))
            for piece in stream:
                pieces.append(piece)  # noqa: PERF402 - the main thread reads the list meanwhile
            ended.append(("".join(pieces), stream.finish))

        threads = [threading.Thread(target=whole), threading.Thread(target=reply)]
        for thread in threads:
            thread.start()
        wait_until(lambda: pieces and len(server.bodies("/v1/chat/completions")) >= 5)
        provider.close()
        for thread in threads:
            thread.join(5)
        assert sorted(map(str, ended)) == ["('Once ', 'cancelled')", "whole"]
        held.set()


def test_the_text_of_a_preempted_attempt_is_not_returned_twice(connected):
    with run_fake_server(
        v1__models=MODELS, v1__chat__completions=chat_endpoint("In the forest lived a fox.")
    ) as server:
        provider = connected(server)
        real, tries = provider.servers[0].attempt, []

        def once(request, ticket, is_closed):
            tries.append(request)
            for piece in real(request, ticket, is_closed):
                yield piece
                if len(tries) == 1:
                    ticket.preempt()

        provider.servers[0].attempt = once
        assert (
            provider.complete(STORY_TURNS, GenerationOptions(slot="s", max_tokens=20)).text
            == "In the forest lived a fox."
        )
        assert len(tries) == 2
