"""Owners take turns: nobody waits for more than one request of each other owner, however many it has."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from chat.llm.turns import Turns


@dataclass
class Call:
    """A call that waits."""

    lane: int
    owner: str
    ticket: int
    has_begun: bool = False


# At each step calls arrive, and then one is served.
ARRIVALS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcd")), max_size=4), min_size=1, max_size=25
)


def serve_all(arrivals) -> tuple[list[Call], list[tuple[int, Call]]]:
    """Serve all calls; returns them in order, and the arrivals as (number of calls served before, call)."""
    turns = Turns()
    waiting: list[Call] = []
    served: list[Call] = []
    came: list[tuple[int, Call]] = []
    for step in [*arrivals, *[[]] * sum(map(len, arrivals))]:
        for lane, owner in step:
            call = Call(lane, owner, len(came))
            came.append((len(served), call))
            waiting.append(call)
        if (chosen := turns.find_next(waiting)) is not None:
            waiting.remove(chosen)
            turns.begin(chosen)
            served.append(chosen)
    return served, came


@given(ARRIVALS)
def test_everybody_is_served_once(arrivals):
    served, came = serve_all(arrivals)
    assert sorted(call.ticket for call in served) == [call.ticket for _, call in came]


@given(ARRIVALS)
def test_calls_of_one_owner_keep_their_order_in_a_lane(arrivals):
    served, _ = serve_all(arrivals)
    for key in {(call.lane, call.owner) for call in served}:
        tickets = [call.ticket for call in served if (call.lane, call.owner) == key]
        assert tickets == sorted(tickets)


@given(ARRIVALS)
def test_an_owner_waits_for_one_call_of_each_other_owner_between_two_of_its_own(arrivals):
    served, came = serve_all(arrivals)
    places = {call.ticket: place for place, call in enumerate(served)}
    for before, call in came:
        own = [
            place
            for place, other in enumerate(served[: places[call.ticket]])
            if (other.lane, other.owner) == (call.lane, call.owner)
        ]
        since = max([before, *[place + 1 for place in own]])
        others = Counter(
            other.owner for other in served[since : places[call.ticket]] if other.lane == call.lane
        )
        assert all(count == 1 for count in others.values()), (call, served)


@given(ARRIVALS)
def test_a_lower_lane_waits_while_a_higher_one_has_calls(arrivals):
    served, came = serve_all(arrivals)
    for place, call in enumerate(served):
        waiting = [other for before, other in came if before <= place and served.index(other) > place]
        # Calls that came at the same step are there too.
        assert all(other.lane >= call.lane for other in waiting)


@given(ARRIVALS, st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abcd"), st.booleans()), max_size=12))
def test_the_order_that_is_shown_is_the_order_in_which_calls_are_served(arrivals, calls):
    turns = Turns()
    for step in arrivals:
        for lane, owner in step:
            turns.begin(Call(lane, owner, 0))
    waiting = [Call(lane, owner, n, begun) for n, (lane, owner, begun) in enumerate(calls)]
    shown = turns.order(waiting)
    for call in shown:
        assert turns.find_next(waiting) is call
        waiting.remove(call)
        turns.begin(call)


def test_an_interrupted_call_goes_on_before_others_of_its_lane_and_its_owner_pays_once():
    turns = Turns()
    interrupted, other, chat = Call(2, "a", 0), Call(2, "b", 1), Call(0, "b", 2)
    turns.begin(interrupted)
    interrupted.has_begun = True
    assert turns.order([other, interrupted, chat]) == [chat, interrupted, other]


def test_only_so_many_owners_are_remembered(monkeypatch):
    monkeypatch.setattr("chat.llm.turns._REMEMBERED_OWNERS", 2)
    turns = Turns()
    for owner in "abc":
        turns.begin(Call(0, owner, 0))
    assert [call.owner for call in turns.order([Call(0, owner, 9) for owner in "cba"])] == ["a", "b", "c"]
