"""Who comes first at a server, and how a call ends that was ousted, stopped or closed."""

from __future__ import annotations

import threading

import pytest

from chat.llm import meter
from chat.llm.types import Lane, StopFlag, Turn, Unfinished
from tests.waiting import until

from .pretend import ASK, MODELS, after_the_probe, chat, pretending, words


def test_lanes_wait_for_each_other_the_most_urgent_first(connected):
    let_go, order = threading.Event(), []

    def endpoint(body):
        order.append(body["messages"][-1]["content"])
        if len(order) == 1:
            let_go.wait(10)
        return chat("Done.")(body)

    with pretending(v1__models=MODELS, v1__chat__completions=after_the_probe(endpoint)) as server:
        provider = connected(server)
        provider._gate.places = 1

        def ask(lane, text):
            thread = threading.Thread(
                target=lambda: provider.complete([Turn("user", text)], slot=text, lane=lane, max_tokens=9)
            )
            thread.start()
            until(lambda: len(provider._gate._waiting) + len(provider._gate._inside) == len(threads) + 1)
            threads.append(thread)

        threads: list[threading.Thread] = []
        ask(Lane.CHAT, "first")
        until(lambda: order == ["first"])
        for lane, text in ((Lane.BACKGROUND, "third"), (Lane.INTERACTIVE, "second"), (Lane.CHAT, "chat")):
            ask(lane, text)
        let_go.set()
        for thread in threads:
            thread.join(10)
    assert order == ["first", "chat", "second", "third"]
    meter.background.take()


def test_a_stop_reaches_a_call_that_waits_and_one_that_nobody_answers(connected):
    never, begun = threading.Event(), threading.Event()

    def endpoint(body):
        begun.set()
        never.wait(10)
        return chat("Too late.")(body)

    with pretending(v1__models=MODELS, v1__chat__completions=after_the_probe(endpoint)) as server:
        provider = connected(server)
        provider._gate.places = 1
        stops, ended = [StopFlag(), StopFlag()], []

        def ask(stop):
            stream = provider.stream(ASK, slot="s", stop=stop)
            ended.append((list(stream), stream.finish))

        threads = [threading.Thread(target=ask, args=(stop,)) for stop in stops]
        threads[0].start()
        assert begun.wait(10)
        threads[1].start()
        until(lambda: provider._gate._waiting)
        for stop in stops:
            stop.set()
        for thread in threads:
            thread.join(5)
        assert ended == [([], "cancelled"), ([], "cancelled")]
        never.set()


def test_closing_ends_a_whole_answer_unfinished_and_a_reply_with_its_text(connected):
    held = threading.Event()

    def slow(body):
        yield from words("Once ")
        held.wait(10)

    with pretending(v1__models=MODELS, v1__chat__completions=after_the_probe(slow)) as server:
        provider = connected(server)
        ended = []

        def whole():
            with pytest.raises(Unfinished):
                provider.complete(ASK, slot="b", lane=Lane.CHAT)
            ended.append("whole")

        def reply():
            stream = provider.stream(ASK, slot="s")
            ended.append(("".join(stream), stream.finish))

        threads = [threading.Thread(target=whole), threading.Thread(target=reply)]
        for thread in threads:
            thread.start()
        until(lambda: len(server.bodies("/v1/chat/completions")) >= 5)
        provider.close()
        for thread in threads:
            thread.join(5)
        assert sorted(map(str, ended)) == ["('Once ', 'cancelled')", "whole"]
        held.set()


def test_what_an_ousted_try_had_written_is_not_said_twice(connected):
    with pretending(v1__models=MODELS, v1__chat__completions=chat("In the forest lived a fox.")) as server:
        provider = connected(server)
        real, tries = provider._once, []

        def once(request, ticket, found):
            tries.append(request)
            for piece in real(request, ticket, found):
                yield piece
                if len(tries) == 1:
                    ticket.give_way()

        provider._once = once
        assert provider.complete(ASK, slot="s", max_tokens=20).text == "In the forest lived a fox."
        assert len(tries) == 2
