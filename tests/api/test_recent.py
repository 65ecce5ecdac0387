"""What of a session fits: always its end, never too much, and no tool's call without its results."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chat.api import Message
from chat.api.counting import ESTIMATE
from chat.api.recent import exchanges, newest_that_fit

IDS = st.sampled_from(["call_1", "call_2", "call_3"])


@st.composite
def messages(draw):
    """A message of any role; calls and results with few ids, so that they meet, also in the wrong order."""
    role = draw(st.sampled_from(["system", "user", "assistant", "tool"]))
    content = draw(st.text("ab ", max_size=40))
    if role == "assistant" and draw(st.booleans()):
        return Message(
            role=role, content=content, tool_calls=[{"id": i} for i in draw(st.lists(IDS, max_size=3))]
        )
    if role == "tool":
        return Message(role=role, content=content, tool_call_id=draw(st.none() | IDS))
    return Message(role=role, content=content)


sessions = st.lists(messages(), max_size=25)


@given(session=sessions, limit=st.integers(0, 300))
def test_what_fits_is_an_end_of_the_session_and_as_long_as_can_be(session, limit):
    kept = newest_that_fit(session, limit, ESTIMATE.of)
    assert session[len(session) - len(kept) :] == kept
    assert sum(map(ESTIMATE.of, kept)) <= limit
    left = exchanges(session[: len(session) - len(kept)])
    if left:
        assert sum(map(ESTIMATE.of, [*left[-1], *kept])) > limit


@given(session=sessions)
def test_everything_fits_into_enough(session):
    assert newest_that_fit(session, 10_000, ESTIMATE.of) == session


@given(session=sessions, limit=st.integers(0, 300))
def test_no_result_is_kept_without_the_call_that_it_answers(session, limit):
    start = len(session) - len(newest_that_fit(session, limit, ESTIMATE.of))
    before = {str(call["id"]) for m in session[:start] for call in m.tool_calls or []}
    for place in range(start, len(session)):
        message = session[place]
        if message.role == "tool" and message.tool_call_id in before:
            # Then a later call of the same id has taken the name over.
            again = [m for m in session[start:place] if m.tool_calls]
            assert any(call["id"] == message.tool_call_id for m in again for call in m.tool_calls)


def test_results_of_one_call_stay_with_it_though_others_speak_between():
    call = Message(role="assistant", tool_calls=[{"id": "a"}, {"id": "b"}])
    session = [
        Message(role="user", content="Go"),
        call,
        Message(role="tool", tool_call_id="a", content="1"),
        Message(role="user", content="And?"),
        Message(role="tool", tool_call_id="b", content="2"),
        Message(role="assistant", content="Done"),
    ]
    assert [len(group) for group in exchanges(session)] == [1, 4, 1]


def test_an_id_that_comes_again_belongs_to_the_latest_call():
    turn = [
        Message(role="assistant", tool_calls=[{"id": "a"}]),
        Message(role="tool", tool_call_id="a", content="1"),
    ]
    assert [len(group) for group in exchanges([*turn, *turn])] == [2, 2]
