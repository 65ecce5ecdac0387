"""A replaced model is closed when its last user releases it, and not before."""

from __future__ import annotations

import operator
import threading
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.llm.refcount import ProviderRefcounts


class FakeModel:
    """A model that counts how often it was closed."""

    def __init__(self) -> None:
        self._closed = 0

    def close(self) -> None:
        self._closed += 1

    def closed(self) -> int:
        return self._closed


@pytest.fixture
def refcounts() -> ProviderRefcounts:
    """Reference counts without any acquired model."""
    return ProviderRefcounts()


def test_an_unused_model_is_closed_at_once(refcounts):
    thing = FakeModel()
    refcounts.retire(thing)
    refcounts.wait()
    assert thing.closed() == 1


def test_a_model_in_use_is_closed_by_its_last_release(refcounts):
    thing = FakeModel()
    refcounts.acquire(thing)
    refcounts.acquire(thing)
    refcounts.retire(thing)
    refcounts.release(thing)
    refcounts.wait()
    assert not thing.closed()
    refcounts.release(thing)
    refcounts.wait()
    assert thing.closed() == 1


def test_a_reclaimed_model_stays_open(refcounts):
    thing = FakeModel()
    refcounts.acquire(thing)
    refcounts.retire(thing)
    assert refcounts.reclaim(lambda one: one is thing) is thing
    refcounts.release(thing)
    refcounts.wait()
    assert not thing.closed()
    # A closed model, or one that does not match, cannot be reclaimed.
    assert refcounts.reclaim(lambda one: True) is None


def test_closing_closes_retired_models_even_if_they_are_in_use(refcounts):
    used, retired = FakeModel(), FakeModel()
    for thing in (used, retired):
        refcounts.acquire(thing)
    refcounts.retire(retired)
    refcounts.close()
    assert (used.closed(), retired.closed()) == (0, 1)
    refcounts.release(retired)
    refcounts.wait()
    assert retired.closed() == 1


def test_wait_returns_after_slow_closes(refcounts):
    held = threading.Event()
    order: list[str] = []

    class Slow:
        def close(self) -> None:
            held.wait(10)
            order.append("closed")

    def wait() -> None:
        refcounts.wait()
        order.append("waited")

    refcounts.retire(Slow())
    waiter = threading.Thread(target=wait)
    waiter.start()
    held.set()
    waiter.join(10)
    assert order == ["closed", "waited"]


@given(st.lists(st.tuples(st.sampled_from(["take", "give", "retire", "reclaim"]), st.integers(0, 2))))
def test_in_any_order_no_model_is_closed_in_use_or_twice(steps):
    refcounts, things, uses = ProviderRefcounts(), [FakeModel(), FakeModel(), FakeModel()], [0, 0, 0]
    retired: set[int] = set()
    for step, number in steps:
        thing = things[number]
        if step == "take" and number not in retired:
            refcounts.acquire(thing)
            uses[number] += 1
        elif step == "give" and uses[number]:
            refcounts.release(thing)
            uses[number] -= 1
        elif step == "retire" and number not in retired:
            refcounts.retire(thing)
            retired.add(number)
        elif step == "reclaim" and refcounts.reclaim(partial(operator.is_, thing)):
            retired.discard(number)
        refcounts.wait()
        for at, each in enumerate(things):
            assert each.closed() == int(at in retired and not uses[at])
