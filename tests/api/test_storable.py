"""What a program hands over and no database can hold: marked as lost, or refused in words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from chat.api import Message
from chat.models import Conversation

from .saying import contents

pytestmark = pytest.mark.django_db
# As `open(…, errors="surrogateescape")` gives what is no UTF-8.
HALF = "caf\udce9\x00"
LOST = "caf\ufffd"


def test_a_text_of_any_origin_is_kept_and_read(manager):
    session = manager.create_session(HALF, {HALF: [HALF, 1]})
    call = {"id": "1", "function": {"name": "f", "arguments": HALF}}
    manager.save_message(session, Message(role="assistant", content=HALF, tool_calls=[call]))
    manager.save_message(session, Message(role="tool", content=HALF, tool_call_id="1", name=HALF))
    asked, result = manager.load_session(session)
    assert contents([asked, result]) == [LOST, LOST]
    assert asked.tool_calls[0]["function"]["arguments"] == result.name == LOST
    [entry] = manager.list_sessions()
    assert (entry["system_prompt"], entry["metadata"]) == (LOST, {LOST: [LOST, 1]})


def test_two_halves_are_one_letter(manager):
    session = manager.create_session()
    manager.save_message(session, Message(role="user", content="\ud83d\ude00"))
    assert contents(manager.load_session(session)) == ["😀"]


def test_any_text_is_an_id(manager):
    assert manager.session_id(manager.save_message(HALF, Message(role="user", content="Hi"))) != ""
    assert manager.session_id(HALF) == manager.list_sessions()[0]["id"]


UNHEARD = {"nan": float("nan"), "inf": float("inf"), "object": object(), "set": {1}}


@pytest.mark.parametrize("value", UNHEARD.values(), ids=UNHEARD)
def test_what_is_no_json_is_refused_in_words_and_nothing_is_begun(manager, value):
    with pytest.raises(ValueError, match="JSON cannot hold this"):
        manager.create_session("", {"a": value})
    with pytest.raises(ValueError, match="JSON cannot hold this"):
        manager.save_message("s", Message(role="assistant", tool_calls=[{"a": value}]))
    assert not Conversation.objects.exists()


ENDS = [end.replace(tzinfo=zone) for end in (datetime.min, datetime.max) for zone in (None, UTC)]


@pytest.mark.parametrize("when", ENDS, ids=str)
def test_a_moment_that_has_no_name_somewhere_is_refused_for_no_page_could_show_it(when):
    with pytest.raises(ValueError, match="created_at"):
        Message(role="user", content="Hi", created_at=when)
    assert Message(role="user", content="Hi", created_at=when.replace(year=2500)).created_at.tzinfo


def test_what_a_session_is_begun_with_is_an_object_and_a_text(manager):
    with pytest.raises(ValueError, match="metadata is a dict"):
        manager.create_session("", ["a"])
    manager.create_session(None)
    assert [entry["system_prompt"] for entry in manager.list_sessions(10**20)] == [""]
