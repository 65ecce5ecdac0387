"""The newest messages that fit a token limit: always the session's end, tool calls with their results."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chat.api import Message
from chat.api.history import ESTIMATING_COUNTER, group_exchanges, select_newest_that_fit

IDS = st.sampled_from(["call_1", "call_2", "call_3"])


@st.composite
def messages(draw):
    """A message of any role; calls and results share few ids, so that they match in any order."""
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
def test_the_longest_end_of_the_session_that_fits_is_returned(session, limit):
    kept = select_newest_that_fit(session, limit, ESTIMATING_COUNTER.of)
    assert session[len(session) - len(kept) :] == kept
    assert sum(map(ESTIMATING_COUNTER.of, kept)) <= limit
    left = group_exchanges(session[: len(session) - len(kept)])
    if left:
        assert sum(map(ESTIMATING_COUNTER.of, [*left[-1], *kept])) > limit


@given(session=sessions)
def test_everything_fits_into_a_large_limit(session):
    assert select_newest_that_fit(session, 10_000, ESTIMATING_COUNTER.of) == session


@given(session=sessions, limit=st.integers(0, 300))
def test_no_result_is_returned_without_its_call(session, limit):
    start = len(session) - len(select_newest_that_fit(session, limit, ESTIMATING_COUNTER.of))
    before = {str(call["id"]) for m in session[:start] for call in m.tool_calls or []}
    for place in range(start, len(session)):
        message = session[place]
        if message.role == "tool" and message.tool_call_id in before:
            # In this case a later call has reused the id.
            again = [m for m in session[start:place] if m.tool_calls]
            assert any(call["id"] == message.tool_call_id for m in again for call in m.tool_calls)


def test_results_of_one_call_stay_with_it_despite_messages_between_them():
    call = Message(role="assistant", tool_calls=[{"id": "a"}, {"id": "b"}])
    session = [
        Message(role="user", content="Go"),
        call,
        Message(role="tool", tool_call_id="a", content="1"),
        Message(role="user", content="And?"),
        Message(role="tool", tool_call_id="b", content="2"),
        Message(role="assistant", content="Done"),
    ]
    assert [len(group) for group in group_exchanges(session)] == [1, 4, 1]


def test_a_repeated_id_belongs_to_the_latest_call():
    turn = [
        Message(role="assistant", tool_calls=[{"id": "a"}]),
        Message(role="tool", tool_call_id="a", content="1"),
    ]
    assert [len(group) for group in group_exchanges([*turn, *turn])] == [2, 2]
