"""Recent messages are read from the end of a session: no more rows and queries than the tokens need."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from chat.actions import topic_archive
from chat.api import Message
from chat.api.history import ESTIMATING_COUNTER, FIRST_PORTION, SessionEnd, select_newest_that_fit
from chat.models import Message as Row
from chat.models import Topic
from chat.topics import contents

from .conftest import EACH, LONG
from .test_recent_messages import sessions


@pytest.mark.django_db
class TestTheManager:
    """`get_recent_messages` reads only the end."""

    def test_a_short_end_of_a_long_session_is_read_with_one_portion(self, manager, long_session, rows_read):
        with CaptureQueriesContext(connection) as queries:
            recent = manager.get_recent_messages(str(long_session.pk), 20 * EACH)
        assert [m.content[:5] for m in recent] == [f"{n:05}" for n in range(LONG - 20, LONG)]
        assert len(rows_read) == FIRST_PORTION
        assert len(queries) == 3

    @pytest.mark.parametrize("count", [49, 50, 51, 149, 150, 400, 999])
    def test_less_than_twice_as_many_rows_are_read_as_returned(self, manager, long_session, rows_read, count):
        assert len(manager.get_recent_messages(str(long_session.pk), count * EACH)) == count
        assert len(rows_read) <= 2 * count + FIRST_PORTION + 1

    def test_the_number_of_rows_does_not_depend_on_the_length_of_the_session(
        self, manager, make_session, long_session, rows_read
    ):
        manager.get_recent_messages(str(long_session.pk), 5 * EACH)
        of_long = len(rows_read)
        short = make_session(*[("user", "x" * 4 * EACH)] * 60, strategy="simple")
        manager.get_recent_messages(str(short.pk), 5 * EACH)
        assert len(rows_read) - of_long == of_long

    def test_only_the_archives_of_returned_messages_are_unpacked(
        self, manager, long_session, rows_read, monkeypatch
    ):
        for first in (1, 101, LONG - 99):
            topic = Topic.objects.create(conversation=long_session, title=str(first))
            mine = Row.objects.filter(conversation=long_session, seq__gte=first, seq__lt=first + 100)
            mine.update(topic=topic)
            topic_archive._archive_messages(topic, list(mine))
        unpacked = []
        original = contents.unpack_contents

        def unpack(data, sha256):
            unpacked.append(sha256)
            return original(data, sha256)

        monkeypatch.setattr(contents, "unpack_contents", unpack)
        rows_read.clear()
        with CaptureQueriesContext(connection) as queries:
            recent = manager.get_recent_messages(str(long_session.pk), 20 * EACH)
        assert [m.content[:5] for m in recent] == [f"{n:05}" for n in range(LONG - 20, LONG)]
        assert len(unpacked) == 1
        assert len(rows_read) == FIRST_PORTION
        assert len(queries) == 4

    def test_packed_and_live_messages_are_returned_alike(self, manager, long_session):
        before = manager.get_recent_messages(str(long_session.pk), 300 * EACH)
        topic = Topic.objects.create(conversation=long_session, title="t")
        Row.objects.filter(conversation=long_session).update(topic=topic)
        mine = Row.objects.filter(conversation=long_session, seq__lt=LONG - 3)
        topic_archive._archive_messages(topic, list(mine))
        assert manager.get_recent_messages(str(long_session.pk), 300 * EACH) == before

    def test_a_result_whose_call_is_far_before_is_left_out_with_all_before_it(self, manager, make_session):
        call = {"role": "assistant", "tool_calls": [{"id": "far"}]}
        between = [("user", "x" * 4 * EACH)] * 200
        result = {"role": "tool", "tool_call_id": "far", "content": "It is 3."}
        session = make_session(call, *between, result, ("assistant", "Three."), strategy="simple")
        recent = manager.get_recent_messages(str(session.pk), 30 * EACH)
        assert [m.content for m in recent] == ["Three."]

    def test_a_result_of_no_call_stands_alone(self, manager, make_session):
        between = [("user", "x" * 4 * EACH)] * 200
        result = {"role": "tool", "tool_call_id": "never", "content": "It is 3."}
        session = make_session(*between, result, ("assistant", "Three."), strategy="simple")
        assert len(manager.get_recent_messages(str(session.pk), 30 * EACH)) == 2 + 29


@given(
    session=sessions,
    limits=st.lists(st.integers(0, 120), min_size=1, max_size=4),
    size=st.integers(1, 6),
    most=st.none() | st.integers(0, 12),
)
def test_the_end_of_a_session_gives_the_same_selections_as_the_whole(session, limits, size, most):
    starts = range(len(session), 0, -size)
    portions = [session[max(0, start - size) : start] for start in starts]
    read = []

    def read_portions():
        for portion in portions:
            read.append(portion)
            yield portion

    def iterate_calls():
        before = session[: len(session) - sum(map(len, read))]
        return (m.tool_calls for m in reversed(before) if m.tool_calls)

    end = SessionEnd(read_portions(), iterate_calls, max(limits), ESTIMATING_COUNTER.of)
    for limit in limits:
        whole = select_newest_that_fit(session, limit, ESTIMATING_COUNTER.of, most)
        assert end.select(limit, most) == len(whole)


def test_no_earlier_call_is_looked_for_where_no_result_misses_one():
    said = [Message(role="user", content="x" * 40)] * 10

    def refuse():
        raise AssertionError("the earlier calls were read")

    end = SessionEnd([said[5:], said[:5]], refuse, 30, ESTIMATING_COUNTER.of)
    assert (end.select(30), end.is_cut) == (3, True)
