"""Prefixes move from memory into files while nobody waits, and nobody waits for that."""

from __future__ import annotations

import threading
from unittest.mock import MagicMock

import numpy as np
import pytest

from chat.llm.engine import Engine, Request
from chat.llm.garage import Garage
from chat.llm.parking import Parked, ParkingLot
from chat.llm.sampler import Sampling
from chat.llm.types import Lane, StopFlag
from tests.waiting import until

WAIT = 10


class SlowDisk(Garage):
    """Writes a file when the test lets it."""

    def __init__(self) -> None:
        super().__init__(None, 0)
        self.writing = threading.Event()
        self.go_on = threading.Semaphore(0)
        self.written: list[str] = []

    def put(self, name, tokens, state):
        self.writing.set()
        assert self.go_on.acquire(timeout=WAIT)
        self.written.append(name)


@pytest.fixture
def disk() -> SlowDisk:
    return SlowDisk()


@pytest.fixture
def engine(disk, monkeypatch):
    """An engine without a model, that has more parked than its memory holds and begins to put that away."""
    lot = ParkingLot(10, disk)
    for name in "abc":
        lot._parked[name] = Parked([1], np.zeros(9, np.uint8))
    engine = Engine(MagicMock(), background_cells=8, lot=lot, on_error=MagicMock())
    monkeypatch.setattr(engine, "_work", lambda request: None)
    engine.start()
    assert disk.writing.wait(WAIT)
    yield engine
    disk.go_on.release(10)
    engine.close()


def request() -> Request:
    return Request([1], "chat", Lane.CHAT, 1, Sampling())


def at_once(act) -> None:
    """Let another thread do it, which must not have to wait."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(WAIT / 5)
    assert not thread.is_alive()


def test_a_request_that_comes_meanwhile_is_taken_at_once_and_served_before_the_next_file(engine, disk):
    asked = request()
    at_once(lambda: engine.submit(asked))
    disk.go_on.release()
    assert list(asked) == []
    assert disk.written == ["a"]


def test_a_request_that_is_stopped_meanwhile_ends_at_once(engine, disk):
    asked = request()
    asked.stop = StopFlag()
    asked.stop.on_set(lambda: engine.stop(asked))
    at_once(lambda: engine.submit(asked))
    at_once(asked.stop.set)
    assert asked.finish == "cancelled"
    assert disk.written == []


def test_what_is_left_is_put_away_after_it(engine, disk):
    asked = engine.submit(request())
    disk.go_on.release(2)
    assert list(asked) == []
    until(lambda: disk.written == ["a", "b"])


def test_an_engine_that_is_closed_meanwhile_ends_after_the_file_at_hand(engine, disk):
    closing = threading.Thread(target=engine.close, daemon=True)
    closing.start()
    until(lambda: engine._closed)
    disk.go_on.release()
    closing.join(WAIT)
    assert not closing.is_alive()
    assert disk.written == ["a"]
