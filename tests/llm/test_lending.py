"""A model that is no longer the chosen one is closed when nobody writes with it any more, and not before."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.llm.lending import Lending


class Thing:
    """Counts how often it was closed."""

    def __init__(self) -> None:
        self._closed = 0

    def close(self) -> None:
        self._closed += 1

    def closed(self) -> int:
        return self._closed


@pytest.fixture
def lending() -> Lending:
    """Nothing is lent."""
    return Lending()


def test_what_nobody_uses_is_closed_at_once(lending):
    thing = Thing()
    lending.retire(thing)
    lending.wait()
    assert thing.closed() == 1


def test_what_is_in_use_is_closed_by_the_last_who_gives_it_back(lending):
    thing = Thing()
    lending.take(thing)
    lending.take(thing)
    lending.retire(thing)
    lending.give_back(thing)
    lending.wait()
    assert not thing.closed()
    lending.give_back(thing)
    lending.wait()
    assert thing.closed() == 1


def test_what_is_taken_back_stays_open(lending):
    thing = Thing()
    lending.take(thing)
    lending.retire(thing)
    assert lending.reclaim(lambda one: one is thing) is thing
    lending.give_back(thing)
    lending.wait()
    assert not thing.closed()
    # What was closed, or is not meant, cannot be taken back.
    assert lending.reclaim(lambda one: True) is None


def test_the_end_of_the_program_closes_what_is_retired_though_it_is_in_use(lending):
    used, retired = Thing(), Thing()
    for thing in (used, retired):
        lending.take(thing)
    lending.retire(retired)
    lending.close()
    assert (used.closed(), retired.closed()) == (0, 1)
    lending.give_back(retired)
    lending.wait()
    assert retired.closed() == 1


def test_waiting_waits_for_what_takes_its_time(lending):
    held = threading.Event()
    order: list[str] = []

    class Slow:
        def close(self) -> None:
            held.wait(10)
            order.append("closed")

    def wait() -> None:
        lending.wait()
        order.append("waited")

    lending.retire(Slow())
    waiter = threading.Thread(target=wait)
    waiter.start()
    held.set()
    waiter.join(10)
    assert order == ["closed", "waited"]


@given(st.lists(st.tuples(st.sampled_from(["take", "give", "retire", "reclaim"]), st.integers(0, 2))))
def test_in_any_order_nothing_in_use_is_closed_and_nothing_is_closed_twice(steps):
    lending, things, uses = Lending(), [Thing(), Thing(), Thing()], [0, 0, 0]
    retired: set[int] = set()
    for step, number in steps:
        thing = things[number]
        if step == "take" and number not in retired:
            lending.take(thing)
            uses[number] += 1
        elif step == "give" and uses[number]:
            lending.give_back(thing)
            uses[number] -= 1
        elif step == "retire" and number not in retired:
            lending.retire(thing)
            retired.add(number)
        elif step == "reclaim" and lending.reclaim(lambda one, thing=thing: one is thing):
            retired.discard(number)
        lending.wait()
        for at, each in enumerate(things):
            assert each.closed() == int(at in retired and not uses[at])
