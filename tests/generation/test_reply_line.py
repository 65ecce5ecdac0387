"""Replies get threads owner by owner, each page shows its place in the line, and waiting has an end."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from chat.actions.messages import send_message
from chat.actions.owners import ensure_owner
from chat.errors import Overloaded
from chat.generation import run as generation
from chat.generation.hub import Frame, hub
from chat.generation.reply_line import ReplyLine
from chat.llm.model_status import ModelState, ModelStatus
from chat.llm.registry import registry
from chat.llm.remote.address import parse_address
from chat.llm.remote.provider import RemoteProvider
from memoryapp.base.message_bus import MessageBus, bus
from tests.llm.remote.fake_server import MODELS, only_when_streamed, run_fake_server, stream_pieces
from tests.waiting import wait_until

from .finished_replies import wait_for_reply
from .shared_hubs import await_subscription, close_at_end


class FakeRun:
    """A reply that is written when the test says so."""

    def __init__(self, owner: str, number: int, log: list[str]) -> None:
        self.owner, self.reply = owner, f"{owner}{number}"
        self.log, self.let_go = log, threading.Event()

    def main(self) -> None:
        """Note the start, and end when `let_go` is set."""
        self.log.append(self.reply)
        assert self.let_go.wait(10)


class Line:
    """A line of fake replies, with the places that it has shown."""

    def __init__(
        self, threads: int, places: int = 1, most_threads: int = 0, message_bus: MessageBus = bus
    ) -> None:
        self.begun: list[str] = []
        self.places: dict[str, int] = {}
        self.runs: dict[str, FakeRun] = {}
        self.line = ReplyLine(
            threads, self._show, lambda: places, most_threads=most_threads, message_bus=message_bus
        )

    def _show(self, run, before) -> None:
        self.places[run.reply] = before

    def add(self, owner: str, number: int, most: int) -> None:
        """Add a reply of an owner."""
        run = FakeRun(owner, number, self.begun)
        self.runs[run.reply] = run
        self.line.add(run, most)

    def end_all(self) -> None:
        """End all replies in the order in which they get threads."""
        wait_until(lambda: self._end_begun() == len(self.runs))

    def _end_begun(self) -> int:
        for reply in list(self.begun):
            self.runs[reply].let_go.set()
        return len(self.begun)


def test_one_owner_does_not_take_all_threads():
    made = Line(threads=4)
    for number in range(6):
        made.add("a", number, most=2)
    for number, owner in enumerate("bc"):
        made.add(owner, number, most=2)
    wait_until(lambda: len(made.begun) == 4)
    assert sorted(made.begun) == ["a0", "a1", "b0", "c1"]
    made.end_all()
    assert made.begun[4:] == ["a2", "a3", "a4", "a5"]


def test_there_are_as_many_threads_as_model_servers_have_places_up_to_a_limit():
    for places, threads in ((1, 2), (3, 3), (64, 4)):
        made = Line(threads=2, places=places, most_threads=4)
        for number in range(6):
            made.add(f"owner {number} ", number, most=2)
        wait_until(partial(lambda begun, wanted: len(begun) == wanted, made.begun, threads))
        made.end_all()


def test_owners_get_the_next_thread_in_turns():
    made = Line(threads=1)
    for reply in ("a0", "a1", "a2", "b0", "b1", "c0"):
        made.add(reply[0], int(reply[1]), most=1)
    for count in range(1, 7):
        wait_until(partial(lambda wanted: len(made.begun) == wanted, count))
        made.runs[made.begun[-1]].let_go.set()
    assert made.begun == ["a0", "b0", "c0", "a1", "b1", "a2"]


def test_each_reply_is_told_how_many_are_served_before_it_whenever_that_changes():
    made = Line(threads=4)
    for reply in ("a0", "a1", "a2", "b0"):
        made.add(reply[0], int(reply[1]), most=4)
    wait_until(lambda: len(made.begun) == 4)
    # The reply of b is served after the first one of a, and not after all three.
    assert made.places == {"a1": 2, "a2": 3, "b0": 1}
    made.line.note_begin(made.runs["a0"])
    assert made.places == {"a1": 2, "a2": 3, "b0": 1}
    made.runs["a0"].let_go.set()
    wait_until(lambda: made.places == {"a1": 1, "a2": 2, "b0": 0})
    made.line.note_begin(made.runs["b0"])
    assert made.places == {"a1": 1, "a2": 2, "b0": 0}
    made.end_all()


def test_a_reply_without_a_thread_can_leave_the_line_and_those_behind_move_up():
    made = Line(threads=1)
    for reply in ("a0", "b0", "c0"):
        made.add(reply[0], int(reply[1]), most=1)
    wait_until(lambda: made.begun == ["a0"])
    assert made.places == {"b0": 1, "c0": 2}
    assert made.line.withdraw(made.runs["b0"])
    assert not made.line.withdraw(made.runs["b0"])
    assert not made.line.withdraw(made.runs["a0"])
    assert made.places["c0"] == 1
    made.runs["a0"].let_go.set()
    made.runs["c0"].let_go.set()
    wait_until(lambda: made.begun == ["a0", "c0"])


class Watcher:
    """Collects the frames of a conversation."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def put(self, frame) -> None:
        """Keep a frame."""
        self.frames.append(frame)


@pytest.fixture
def one_place(transactional_db):
    """A model server that writes one reply at a time, each until the test releases it."""
    gate = threading.Semaphore(0)

    def reply(body):
        gate.acquire(timeout=10)
        yield from stream_pieces("Done.")

    with run_fake_server(v1__models=MODELS, v1__chat__completions=only_when_streamed(reply)) as server:
        provider = RemoteProvider(parse_address(server.url))
        provider.connect()
        provider.servers[0].places.capacity = 1
        registry.use(provider)
        yield gate
        gate.release(1000)
        generation.stop_all()
        provider.close()


@pytest.mark.django_db(transaction=True)
def test_a_page_is_told_its_place_and_later_that_its_turn_has_come(owner, one_place, settings):
    settings.MODE = "server"
    _, first = send_message(owner, "Hello")
    _, second = send_message(ensure_owner("another"), "Hello")
    watcher = Watcher()
    hub.watch(str(second.conversation_id), watcher)
    generation.start(first)
    wait_until(lambda: generation.line._entries[str(first.pk)].is_served)
    generation.start(second)
    wait_until(lambda: any(frame["type"] == "place" for frame in watcher.frames))
    assert watcher.frames[-1] == {"type": "place", "reply": str(second.pk), "before": 1}
    assert (hub.snapshot(str(second.conversation_id)) or {})["before"] == 1
    one_place.release()
    wait_until(lambda: watcher.frames[-1]["before"] == 0)
    assert "before" not in (hub.snapshot(str(second.conversation_id)) or {})
    one_place.release()
    assert wait_for_reply(second).state == "complete"


@pytest.mark.django_db(transaction=True)
def test_a_reply_that_waits_too_long_for_its_turn_fails_with_a_sentence_and_can_be_retried(
    owner, one_place, settings
):
    settings.MODE, settings.QUEUE_SECONDS = "server", 0.3
    _, first = send_message(owner, "Hello")
    _, second = send_message(ensure_owner("another"), "Hello")
    generation.start(first)
    wait_until(lambda: generation.line._entries[str(first.pk)].is_served)
    generation.start(second)
    ended = wait_for_reply(second)
    assert (ended.state, ended.failure) == ("failed", "queue-too-long")
    # The one that is being written goes on.
    assert generation.find_run(first.pk) is not None
    one_place.release()
    assert wait_for_reply(first).state == "complete"


@pytest.mark.django_db(transaction=True)
def test_a_reply_without_a_thread_waits_no_longer_than_one_with(owner, one_place, settings, monkeypatch):
    monkeypatch.setattr(generation, "REPLY_THREADS_OF_ONE", 1)
    settings.MODE, settings.QUEUE_SECONDS = "server", 0.3
    _, first = send_message(owner, "Hello")
    _, second = send_message(owner, "Hello")
    generation.start(first)
    wait_until(lambda: generation.line._entries[str(first.pk)].is_served)
    generation.start(second)
    assert wait_for_reply(second).failure == "queue-too-long"
    one_place.release()
    assert wait_for_reply(first).state == "complete"


@pytest.mark.django_db(transaction=True)
def test_time_without_a_model_is_no_time_in_the_line(owner, scripted, settings):
    settings.MODE, settings.QUEUE_SECONDS = "server", 0.3
    registry.set_status(ModelStatus(ModelState.LOADING))
    _, reply = send_message(owner, "Hello")
    generation.start(reply)
    time.sleep(1.2)
    assert generation.find_run(reply.pk) is not None
    registry.set_status(ModelStatus(ModelState.READY))
    assert wait_for_reply(reply).state == "complete"


@pytest.mark.django_db(transaction=True)
def test_in_local_mode_a_reply_waits_for_any_time(owner, one_place, settings):
    settings.QUEUE_SECONDS = 0.1
    _, first = send_message(owner, "Hello")
    _, second = send_message(owner, "Hello")
    generation.start(first)
    generation.start(second)
    time.sleep(1)
    assert generation.count_running() == 2
    one_place.release(2)
    assert {wait_for_reply(first).state, wait_for_reply(second).state} == {"complete"}


@pytest.mark.django_db(transaction=True)
def test_beyond_their_number_a_persons_replies_are_refused_and_others_are_not(
    owner, one_place, settings, monkeypatch
):
    monkeypatch.setattr(generation, "MAX_REPLIES_OF_ONE", 1)
    settings.MODE = "server"
    generation.begin_exchange(owner, lambda: send_message(owner, "Hello"))
    with pytest.raises(Overloaded) as refused:
        generation.begin_exchange(owner, lambda: send_message(owner, "One more"))
    assert refused.value.code == "queue-full-of-yours"
    another = ensure_owner("another")
    generation.begin_exchange(another, lambda: send_message(another, "Hello"))
    one_place.release(2)
    generation.wait_all()


def test_the_place_in_the_line_counts_the_replies_of_all_processes(redis):
    with close_at_end(redis) as close:
        lines = []
        for _ in range(2):
            await_subscription(messages := MessageBus(redis.url), redis)
            lines.append(Line(threads=4, message_bus=messages))
            close.append(messages.close)
        here, there = lines
        # A process hears the others from its first reply on.
        there.add("x", 0, most=4)
        there.end_all()
        here.add("a", 0, most=4)
        here.line.note_begin(here.runs["a0"])
        here.add("a", 1, most=4)
        wait_until(lambda: here.places.get("a1") == 1)
        there.add("b", 0, most=4)
        wait_until(lambda: there.places.get("b0") == 1)
        # The other person's turn comes before the second reply of the first one.
        wait_until(lambda: here.places["a1"] == 2)
        there.add("b", 1, most=4)
        wait_until(lambda: there.places.get("b1") == 3)
        there.line.note_begin(there.runs["b0"])
        here.runs["a0"].let_go.set()
        wait_until(lambda: here.places["a1"] == 1 and there.places["b1"] == 2)
        here.end_all()
        there.end_all()
