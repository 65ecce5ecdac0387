"""Saved states are written to disk while the engine is idle, and no request waits for that."""

from __future__ import annotations

import threading
from unittest.mock import MagicMock

import numpy as np
import pytest

from chat.llm.engine import Engine
from chat.llm.engine_request import EngineRequest
from chat.llm.state_cache import DiskCache, SavedState, StateCache
from chat.llm.types import GenerationOptions, StopFlag
from tests.waiting import wait_until

WAIT = 10


class SlowDisk(DiskCache):
    """A disk cache whose writes wait until the test allows them."""

    def __init__(self) -> None:
        super().__init__(None, 0)
        self.writing = threading.Event()
        self.go_on = threading.Semaphore(0)
        self.written: list[str] = []

    def put(self, name, saved):
        self.writing.set()
        assert self.go_on.acquire(timeout=WAIT)
        self.written.append(name)


@pytest.fixture
def disk() -> SlowDisk:
    return SlowDisk()


@pytest.fixture
def engine(disk, monkeypatch):
    """An engine without a model whose state cache is over its budget and begins to write states to disk."""
    state_cache = StateCache(10, disk)
    for name in "abc":
        state_cache._in_memory[name] = SavedState([1], np.zeros(9, np.uint8))
    engine = Engine(MagicMock(), background_cells=8, state_cache=state_cache, on_error=MagicMock())
    monkeypatch.setattr(engine, "_work", lambda request: None)
    engine.start()
    assert disk.writing.wait(WAIT)
    yield engine
    disk.go_on.release(10)
    engine.close()


def request() -> EngineRequest:
    return EngineRequest([1], GenerationOptions.for_reply("chat", max_tokens=1))


def run_without_waiting(act) -> None:
    """Run `act` in another thread and check that it returns without waiting."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(WAIT / 5)
    assert not thread.is_alive()


def test_a_request_during_a_write_is_served_before_the_next_write(engine, disk):
    asked = request()
    run_without_waiting(lambda: engine.submit(asked))
    disk.go_on.release()
    assert list(asked) == []
    assert disk.written == ["a"]


def test_a_request_stopped_during_a_write_ends_at_once(engine, disk):
    asked = request()
    asked.stop = StopFlag()
    asked.stop.on_set(lambda: engine.stop(asked))
    run_without_waiting(lambda: engine.submit(asked))
    run_without_waiting(asked.stop.set)
    assert asked.finish == "cancelled"
    assert disk.written == []


def test_remaining_states_are_written_after_the_request(engine, disk):
    asked = engine.submit(request())
    disk.go_on.release(2)
    assert list(asked) == []
    wait_until(lambda: disk.written == ["a", "b"])


def test_closing_the_engine_waits_only_for_the_current_write(engine, disk):
    closing = threading.Thread(target=engine.close, daemon=True)
    closing.start()
    wait_until(lambda: engine._closed)
    disk.go_on.release()
    closing.join(WAIT)
    assert not closing.is_alive()
    assert disk.written == ["a"]
