"""Calls of several processes at the same model servers: places, turns and lanes count for all together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from chat.llm.remote import server_places
from chat.llm.remote.scheduling import CallQueue, QueueTicket
from chat.llm.remote.server_places import OtherCall, ServerPlaces
from chat.llm.remote.shared_calls import name_server
from chat.llm.types import Lane, StopFlag
from memoryapp.base.announcements import Announcements
from memoryapp.base.message_bus import MessageBus
from tests.generation.shared_hubs import await_subscription
from tests.redis_server import RedisServer
from tests.waiting import wait_until


class Process:
    """The queue of one process, and its calls."""

    def __init__(self, redis: RedisServer, places: int) -> None:
        self.bus = MessageBus(redis.url)
        await_subscription(self.bus, redis)
        self.server = ServerPlaces("model", capacity=places)
        self.queue = CallQueue([self.server], partial(Announcements, message_bus=self.bus))
        self.threads: list[threading.Thread] = []

    def call(self, lane: Lane = Lane.CHAT, owner: str = "a", log: list[str] | None = None) -> QueueTicket:
        """Begin a call in a thread; with `log` it ends at once after its admission, which is noted there."""
        ticket = QueueTicket(lane, StopFlag(), owner)

        def run() -> None:
            if self.queue.enter(ticket) is not None and log is not None:
                log.append(owner)
                self.queue.leave(ticket)

        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()
        return ticket

    def has(self, ticket: QueueTicket) -> bool:
        """Return whether a call is admitted."""
        return ticket in self.queue.active

    def knows(self, *, active: int = 0, waiting: int = 0) -> bool:
        """Return whether it knows so many calls of other processes."""
        return len(self.server.elsewhere) == active and len(self.queue._others_waiting) == waiting

    def listen(self) -> None:
        """Let it hear the others: it does so from its first call on."""
        ticket = self.call()
        wait_until(lambda: self.has(ticket))
        self.queue.leave(ticket)

    def close(self) -> None:
        """End everything."""
        self.queue.close()
        for thread in self.threads:
            thread.join(5)
        self.bus.close()


@pytest.fixture
def start(redis: RedisServer) -> Iterator[Callable[[int], list[Process]]]:
    """Return a function that starts two processes with one server of so many places."""
    processes: list[Process] = []

    def make(places: int) -> list[Process]:
        processes.extend(Process(redis, places) for _ in range(2))
        for process in processes:
            process.listen()
        return processes

    yield make
    for process in processes:
        process.close()
    with redis.connect() as client:
        client.flushall()


def test_a_place_that_another_process_has_is_not_free(start):
    here, there = start(1)
    first = here.call()
    wait_until(lambda: here.has(first) and there.knows(active=1))
    second = there.call()
    wait_until(lambda: here.knows(waiting=1))
    assert not there.has(second)
    here.queue.leave(first)
    wait_until(lambda: there.has(second))


def test_one_with_many_calls_in_one_process_does_not_delay_another_person_in_the_other(start):
    here, there = start(1)
    log: list[str] = []
    running = here.call(owner="a")
    wait_until(lambda: here.has(running) and there.knows(active=1))
    for _ in range(6):
        here.call(owner="a", log=log)
    there.call(owner="b", log=log)
    wait_until(lambda: here.knows(waiting=1) and there.knows(active=1, waiting=6))
    here.queue.leave(running)
    wait_until(lambda: len(log) == 7)
    assert "b" in log[:2]


def test_a_chat_interrupts_the_background_work_of_another_process(start):
    here, there = start(4)
    background = here.call(Lane.BACKGROUND)
    wait_until(lambda: here.has(background) and there.knows(active=1))
    chat = there.call(Lane.CHAT)
    wait_until(lambda: background.preempted)
    assert not there.has(chat)
    here.queue.leave(background)
    wait_until(lambda: there.has(chat))
    again = here.call(Lane.BACKGROUND)
    wait_until(lambda: there.knows(waiting=1))
    assert not here.has(again)
    there.queue.leave(chat)
    wait_until(lambda: here.has(again))


def test_the_places_of_a_killed_process_become_free(start):
    here, there = start(1)
    held = here.call()
    wait_until(lambda: here.has(held) and there.knows(active=1))
    # It sends nothing any more, as after a kill.
    here.bus.close()
    waiting = there.call()
    wait_until(lambda: there.has(waiting))


def test_a_call_that_leaves_a_free_place_unused_is_passed_over(start):
    here, there = start(1)
    # The server fails for this process only.
    here.server.is_usable = here.server.is_known = lambda: False
    stuck = here.call(owner="b")
    wait_until(lambda: there.knows(waiting=1))
    passing = there.call(owner="a")
    wait_until(lambda: there.has(passing))
    assert not here.has(stuck)


def test_without_other_processes_a_call_waits_for_nobody():
    queue = CallQueue([server := ServerPlaces("model")])
    ticket = QueueTicket(Lane.CHAT, StopFlag(), "a")
    assert queue.enter(ticket) is server
    queue.leave(ticket)


def make_call(lane: Lane, came: float) -> OtherCall:
    return OtherCall("1", lane, "a", came, has_begun=False, is_active=True, server="model")


@pytest.fixture
def now(monkeypatch) -> float:
    monkeypatch.setattr(server_places.time, "monotonic", lambda: 1000.0)
    return 1000.0


def test_background_work_has_an_eighth_of_many_places_beside_chats(now):
    server = ServerPlaces("model", capacity=64, elsewhere=[make_call(Lane.CHAT, now)])
    for number in range(8):
        assert server.has_room(make_call(Lane.BACKGROUND, now)), number
        server.elsewhere.append(make_call(Lane.BACKGROUND, now + number))
    assert not server.has_room(make_call(Lane.BACKGROUND, now))
    # The eight stay, the ninth makes room.
    assert server.list_in_the_way(Lane.CHAT) == []
    server.elsewhere.append(last := make_call(Lane.BACKGROUND, now + 9))
    assert server.list_in_the_way(Lane.CHAT) == [last]


@pytest.mark.parametrize(("places", "waited", "is_let_in"), [(4, 30, False), (4, 61, True), (1, 600, False)])
def test_background_work_waits_a_minute_for_one_of_few_places_beside_chats(now, places, waited, is_let_in):
    server = ServerPlaces("model", capacity=places, elsewhere=[make_call(Lane.CHAT, now)])
    waiting = make_call(Lane.BACKGROUND, now - waited)
    assert server.has_room(waiting) is is_let_in
    server.elsewhere[:] = [waiting]
    assert (server.list_in_the_way(Lane.CHAT) == []) is is_let_in
    # A second one waits.
    server.elsewhere[:] = [make_call(Lane.CHAT, now), waiting]
    assert not server.has_room(waiting)


def test_an_address_of_this_machine_is_another_server_on_another_machine(monkeypatch):
    assert name_server("https://models.example.org/v1") == "https://models.example.org/v1"
    monkeypatch.setattr("socket.gethostname", lambda: "one")
    assert name_server("http://127.0.0.1:8080/v1") == "one http://127.0.0.1:8080/v1"
    assert name_server("http://localhost:8080/v1") == "one http://localhost:8080/v1"
